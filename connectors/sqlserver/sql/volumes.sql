-- Room on the volume under each file. Linux leaves the mount point NULL, and says nothing about seeking.
-- Reads: sys.database_files, sys.dm_os_volume_stats. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER
-- PERFORMANCE STATE). Cost: one call of the operating system for each file.
SELECT f.file_id,
       v.volume_mount_point,
       v.total_bytes,
       v.available_bytes,
       CONVERT(int, v.incurs_seek_penalty) AS incurs_seek_penalty --@15 NULL
  FROM sys.database_files AS f
 CROSS APPLY sys.dm_os_volume_stats(DB_ID(), f.file_id) AS v
 WHERE f.type = 0
