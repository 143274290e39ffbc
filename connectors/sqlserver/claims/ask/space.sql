-- Why a scratch space cannot be used, one sentence a row. Parameter {space}: its name. SQL Server gives no rights on
-- filegroups.
-- Reads: sys.filegroups, sys.database_files. Since: 2012. Privilege: none. Cost: under a millisecond.
SELECT CONCAT('there is no filegroup ', QUOTENAME({space})) AS why
 WHERE NOT EXISTS (SELECT 1 FROM sys.filegroups AS g WHERE g.name = {space})
UNION ALL
SELECT CONCAT('the filegroup ', QUOTENAME(g.name), ' is read-only')
  FROM sys.filegroups AS g
 WHERE g.name = {space}
   AND g.is_read_only = 1
UNION ALL
SELECT CONCAT('the filegroup ', QUOTENAME(g.name), ' has no file')
  FROM sys.filegroups AS g
 WHERE g.name = {space}
   AND NOT EXISTS (SELECT 1 FROM sys.database_files AS f WHERE f.data_space_id = g.data_space_id)
