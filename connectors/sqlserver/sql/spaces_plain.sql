-- As spaces.sql, for a login that may not see how full files are.
-- Reads: sys.filegroups, sys.database_files. Since: 2012. Privilege: none. Cost: a row for each file.
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
       NULL AS used_pages,
       CONVERT(int, f.is_percent_growth) AS percent_growth
  FROM sys.filegroups AS g
  LEFT JOIN sys.database_files AS f ON f.data_space_id = g.data_space_id AND f.type = 0
 WHERE g.type = 'FG'
 ORDER BY g.data_space_id, f.file_id
