-- Every filegroup and partition scheme; a scheme has a row for each partition, and one more for NEXT USED if it is set.
-- Reads: sys.data_spaces, sys.filegroups, sys.partition_schemes, sys.partition_functions, sys.destination_data_spaces,
-- sys.database_files. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: under a millisecond.
SELECT d.data_space_id,
       d.name AS space_name,
       d.type AS space_type,
       CONVERT(int, g.is_read_only) AS is_read_only,
       (SELECT COUNT(*) FROM sys.database_files AS x WHERE x.data_space_id = d.data_space_id AND x.type = 0) AS files,
       f.name AS function_name,
       f.fanout,
       e.destination_id,
       e.data_space_id AS destination_space_id,
       CONVERT(int, f.boundary_value_on_right) AS on_right
  FROM sys.data_spaces AS d
  LEFT JOIN sys.filegroups AS g ON g.data_space_id = d.data_space_id
  LEFT JOIN sys.partition_schemes AS s ON s.data_space_id = d.data_space_id
  LEFT JOIN sys.partition_functions AS f ON f.function_id = s.function_id
  LEFT JOIN sys.destination_data_spaces AS e ON e.partition_scheme_id = d.data_space_id
 WHERE d.type IN ('FG', 'PS')
 ORDER BY d.data_space_id, e.destination_id
