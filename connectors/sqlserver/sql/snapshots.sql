-- Transactions that read a snapshot of some database: DBCC SHRINKFILE waits for those of its own (message 5203).
-- Reads: sys.dm_tran_active_snapshot_database_transactions, sys.dm_exec_sessions. Since: 2012. Privilege: VIEW SERVER
-- STATE (2022: VIEW SERVER PERFORMANCE STATE). Cost: a row for each of them.
SELECT t.session_id,
       t.elapsed_time_seconds
  FROM sys.dm_tran_active_snapshot_database_transactions AS t
  JOIN sys.dm_exec_sessions AS s ON s.session_id = t.session_id
 WHERE s.database_id = DB_ID()
 ORDER BY t.elapsed_time_seconds DESC
