-- Reads and writes of this database's log and of tempdb since the service started, with their stalls, and how long tasks
-- waited for a log of whatever database to be written. Database 2 is tempdb, its own log included.
-- Reads: sys.dm_io_virtual_file_stats, sys.database_files, sys.dm_os_wait_stats. Since: 2012. Privilege: VIEW SERVER
-- STATE (2022: VIEW SERVER PERFORMANCE STATE). Cost: a row for each file of two databases.
SELECT 'log' AS role,
       f.name AS name,
       v.num_of_reads AS reads,
       v.io_stall_read_ms AS read_ms,
       v.num_of_writes AS writes,
       v.io_stall_write_ms AS write_ms,
       v.num_of_bytes_written AS written_bytes
  FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) AS v
  JOIN sys.database_files AS f ON f.file_id = v.file_id
 WHERE f.type = 1
UNION ALL
SELECT 'temp', 'tempdb', SUM(t.num_of_reads), SUM(t.io_stall_read_ms), SUM(t.num_of_writes), SUM(t.io_stall_write_ms),
       SUM(t.num_of_bytes_written)
  FROM sys.dm_io_virtual_file_stats(2, NULL) AS t
UNION ALL
SELECT 'wait', w.wait_type, NULL, NULL, NULL, w.wait_time_ms, NULL
  FROM sys.dm_os_wait_stats AS w
 WHERE w.wait_type = 'WRITELOG'
