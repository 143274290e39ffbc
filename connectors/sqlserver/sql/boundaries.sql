-- Boundary values of a partition function in order, as text that T-SQL reads the same in every language.
-- Reads: sys.partition_functions, sys.partition_range_values. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: under a
-- millisecond.
SELECT v.boundary_id,
       CONVERT(nvarchar(4000), v.value, 126) AS boundary
  FROM sys.partition_range_values AS v
  JOIN sys.partition_functions AS f ON f.function_id = v.function_id
 WHERE f.name = CONVERT(nvarchar(128), ?)
   AND v.parameter_id = 1
 ORDER BY v.boundary_id
