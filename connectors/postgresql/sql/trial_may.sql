-- Whether a table of one row could be moved for a trial: not on a standby, and not without the right to make a temporary one.
-- Reads: nothing. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT NOT pg_is_in_recovery() AND has_database_privilege(current_database(), 'TEMPORARY') AS may,
       quote_ident(current_database()) AS dbname,
       quote_ident(current_user) AS login
