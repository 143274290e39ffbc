-- What this login may do with one table or indexed view.
-- Reads: sys.objects, sys.schemas, HAS_PERMS_BY_NAME. Since: 2012. Privilege: none. Cost: under a millisecond.
SELECT COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(s.name) + '.' + QUOTENAME(o.name), 'OBJECT', 'ALTER'), 0) AS may_alter,
       COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(s.name) + '.' + QUOTENAME(o.name), 'OBJECT', 'SELECT'), 0) AS may_read,
       COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(s.name) + '.' + QUOTENAME(o.name), 'OBJECT', 'INSERT'), 0) AS may_add
  FROM sys.objects AS o
  JOIN sys.schemas AS s ON s.schema_id = o.schema_id
 WHERE s.name = CONVERT(nvarchar(128), ?)
   AND o.name = CONVERT(nvarchar(128), ?)
   AND o.type IN ('U', 'V')
