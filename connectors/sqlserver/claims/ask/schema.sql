-- Why the scratch schema cannot be used, one sentence a row: it is missing, another's, or not empty, or names and rights
-- that its cases need are taken or missing.
-- Reads: sys.schemas, sys.objects, sys.partition_functions, sys.partition_schemes. Since: 2012. Privilege: none.
-- Cost: some milliseconds.
SELECT CONCAT('there is no schema ', QUOTENAME({literal})) AS why
 WHERE NOT EXISTS (SELECT 1 FROM sys.schemas AS s WHERE s.name = {literal})
UNION ALL
SELECT CONCAT('the schema ', QUOTENAME(s.name), ' does not belong to ', SUSER_SNAME())
  FROM sys.schemas AS s
 WHERE s.name = {literal}
   AND s.principal_id <> DATABASE_PRINCIPAL_ID()
UNION ALL
SELECT CONCAT('the schema ', QUOTENAME(s.name), ' is not empty: it holds ', QUOTENAME(o.name))
  FROM sys.objects AS o
  JOIN sys.schemas AS s ON s.schema_id = o.schema_id
 WHERE s.name = {literal}
   AND o.parent_object_id = 0
UNION ALL
SELECT CONCAT('the partition function ', QUOTENAME(f.name), ' is there already')
  FROM sys.partition_functions AS f
 WHERE f.name IN ({function names})
UNION ALL
SELECT CONCAT('the partition scheme ', QUOTENAME(p.name), ' is there already')
  FROM sys.partition_schemes AS p
 WHERE p.name IN ({scheme names})
UNION ALL
SELECT CONCAT(SUSER_SNAME(), ' may not make tables: GRANT CREATE TABLE TO ', QUOTENAME(SUSER_SNAME()))
 WHERE COALESCE(HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'CREATE TABLE'), 0) = 0
