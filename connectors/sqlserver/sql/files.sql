-- Reads and writes of every filegroup of this database since the service started, with their stalls.
-- Reads: sys.dm_io_virtual_file_stats, sys.database_files, sys.filegroups. Since: 2012. Privilege: VIEW SERVER STATE
-- (2022: VIEW SERVER PERFORMANCE STATE). Cost: a row for each file.
SELECT g.name AS filegroup_name,
       SUM(v.num_of_reads) AS reads,
       SUM(v.num_of_bytes_read) AS read_bytes,
       SUM(v.io_stall_read_ms) AS read_stall_ms,
       SUM(v.io_stall_queued_read_ms) AS queued_read_ms, --@12 0
       SUM(v.num_of_writes) AS writes,
       SUM(v.io_stall_write_ms) AS write_stall_ms,
       SUM(v.io_stall_queued_write_ms) AS queued_write_ms --@12 0
  FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) AS v
  JOIN sys.database_files AS f ON f.file_id = v.file_id
  JOIN sys.filegroups AS g ON g.data_space_id = f.data_space_id
 WHERE f.type = 0
 GROUP BY g.name
