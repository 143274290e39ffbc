-- Tables that an interrupted move may have left in a schema, with their rows.
-- Reads: sys.tables, sys.schemas, sys.partitions. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: under a millisecond.
SELECT t.name AS table_name,
       CONVERT(bigint, SUM(p.rows)) AS row_count
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id
  JOIN sys.partitions AS p ON p.object_id = t.object_id AND p.index_id <= 1
 WHERE s.name = CONVERT(nvarchar(128), ?)
   AND LEFT(t.name, 9) = 'hotplace_'
 GROUP BY t.name
