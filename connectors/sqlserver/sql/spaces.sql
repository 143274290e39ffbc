-- Filegroups that hold rows, with each of their files. Sizes are pages of 8 KiB.
-- Reads: sys.filegroups, sys.database_files, sys.dm_db_file_space_usage. Since: 2012. Privilege: VIEW ANY DEFINITION,
-- and VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE STATE) for used_pages. Cost: a row for each file.
SELECT g.data_space_id,
       g.name AS filegroup_name,
       CONVERT(int, g.is_read_only) AS is_read_only,
       f.file_id,
       f.name AS file_name,
       f.physical_name,
       CONVERT(bigint, f.size) AS size_pages,
       f.max_size,
       f.growth,
       f.state_desc,
       u.total_page_count - u.unallocated_extent_page_count AS used_pages,
       CONVERT(int, f.is_percent_growth) AS percent_growth
  FROM sys.filegroups AS g
  LEFT JOIN sys.database_files AS f ON f.data_space_id = g.data_space_id AND f.type = 0
  LEFT JOIN sys.dm_db_file_space_usage AS u ON u.file_id = f.file_id AND u.database_id = DB_ID()
 WHERE g.type = 'FG'
 ORDER BY g.data_space_id, f.file_id
