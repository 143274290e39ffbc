-- Room on the volumes under tempdb's data files, one row a file; a sort in tempdb needs about the size of the index.
-- Reads: sys.master_files, sys.dm_os_volume_stats. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER
-- PERFORMANCE STATE) and VIEW ANY DEFINITION; without it there are no rows. Cost: one call of the operating system a file.
SELECT f.file_id,
       v.volume_mount_point,
       v.available_bytes
  FROM sys.master_files AS f
 CROSS APPLY sys.dm_os_volume_stats(f.database_id, f.file_id) AS v
 WHERE f.database_id = 2
   AND f.type = 0
