-- Room on the volumes of the log's files, one row a file. Azure SQL Database does not have the function.
-- Reads: sys.database_files, sys.dm_os_volume_stats. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER
-- PERFORMANCE STATE). Cost: one call of the operating system for each file.
SELECT f.file_id,
       v.volume_mount_point,
       v.available_bytes
  FROM sys.database_files AS f
 CROSS APPLY sys.dm_os_volume_stats(DB_ID(), f.file_id) AS v
 WHERE f.type = 1
