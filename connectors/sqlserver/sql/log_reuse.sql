-- Why used room in the log cannot be used again, as the server names it; NOTHING where it can.
-- Reads: sys.databases. Since: 2012. Privilege: none for the database of the session. Cost: under a millisecond.
SELECT d.recovery_model_desc,
       d.log_reuse_wait_desc
  FROM sys.databases AS d
 WHERE d.database_id = DB_ID()
