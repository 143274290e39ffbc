-- Tables that this login may not move.
-- Reads: sys.objects, sys.schemas, HAS_PERMS_BY_NAME. Since: 2012. Privilege: none. Cost: one check for each table.
SELECT COUNT(*) AS missing,
       MIN(QUOTENAME(s.name) + '.' + QUOTENAME(o.name)) AS example,
       MIN(QUOTENAME(s.name)) AS example_schema
  FROM sys.objects AS o
  JOIN sys.schemas AS s ON s.schema_id = o.schema_id
 WHERE o.type = 'U'
   AND o.is_ms_shipped = 0
   AND COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(s.name) + '.' + QUOTENAME(o.name), 'OBJECT', 'ALTER'), 0) = 0
