-- Transactions with a lock on one table that are older than so many seconds: the last lock of a build waits for them.
-- Those of a coordinator that were left in doubt are among them: they have no session, and -2 for its number.
-- Reads: sys.dm_tran_locks, sys.dm_tran_active_transactions, sys.dm_exec_sessions.
-- Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE STATE). Cost: a row for each lock held.
SELECT DISTINCT l.request_session_id AS session_id,
       s.login_name,
       s.program_name,
       s.status,
       DATEDIFF(second, a.transaction_begin_time, GETDATE()) AS seconds
  FROM sys.dm_tran_locks AS l
  JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = l.request_owner_id
  LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = l.request_session_id
 WHERE l.resource_database_id = DB_ID()
   AND l.resource_type = 'OBJECT'
   AND l.request_status = 'GRANT'
   AND l.request_owner_type = N'TRANSACTION'
   AND l.resource_associated_entity_id = CONVERT(bigint, ?)
   AND l.request_session_id <> @@SPID
   AND DATEDIFF(second, a.transaction_begin_time, GETDATE()) >= CONVERT(int, ?)
