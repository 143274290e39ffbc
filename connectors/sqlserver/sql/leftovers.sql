-- Partition functions that an interrupted move may have left.
-- Reads: sys.partition_functions. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: under a millisecond.
SELECT f.name AS function_name
  FROM sys.partition_functions AS f
 WHERE LEFT(f.name, 9) = 'hotplace_'
