-- Every scheme of a partition function with what lies on it; a scheme that nothing lies on has one row without an object.
-- Reads: sys.partition_functions, sys.partition_schemes, sys.indexes. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost:
-- one pass over the indexes.
SELECT s.data_space_id,
       i.object_id,
       i.index_id
  FROM sys.partition_schemes AS s
  JOIN sys.partition_functions AS f ON f.function_id = s.function_id
  LEFT JOIN sys.indexes AS i ON i.data_space_id = s.data_space_id
 WHERE f.name = CONVERT(nvarchar(128), ?)
 ORDER BY s.data_space_id, i.object_id, i.index_id
