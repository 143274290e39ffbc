-- The number of this session, so that another one can look at it.
-- Reads: nothing. Since: 2012. Privilege: none. Cost: under a millisecond.
SELECT @@SPID AS session_id
