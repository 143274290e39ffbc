-- Partitioned tables that this login may not copy.
-- Reads: sys.objects, sys.schemas, sys.indexes, sys.data_spaces, HAS_PERMS_BY_NAME. Since: 2012. Privilege: none. Cost:
-- two checks for each of them.
SELECT COUNT(*) AS missing,
       MIN(QUOTENAME(s.name) + '.' + QUOTENAME(o.name)) AS example,
       MIN(QUOTENAME(s.name)) AS example_schema
  FROM sys.objects AS o
  JOIN sys.schemas AS s ON s.schema_id = o.schema_id
  JOIN sys.indexes AS i ON i.object_id = o.object_id AND i.index_id <= 1
  JOIN sys.data_spaces AS d ON d.data_space_id = i.data_space_id
 WHERE o.type = 'U'
   AND o.is_ms_shipped = 0
   AND d.type = 'PS'
   AND (COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(s.name) + '.' + QUOTENAME(o.name), 'OBJECT', 'SELECT'), 0) = 0
     OR COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(s.name) + '.' + QUOTENAME(o.name), 'OBJECT', 'INSERT'), 0) = 0)
