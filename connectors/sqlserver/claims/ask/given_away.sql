-- Why the files of the filegroup that is given away cannot be moved, one sentence a row: it is missing, the default one or
-- PRIMARY, or something lies in it.
-- Reads: sys.filegroups, sys.allocation_units, IS_ROLEMEMBER. Since: 2012. Privilege: none. Cost: some milliseconds.
SELECT CONCAT('there is no filegroup ', QUOTENAME({throw literal})) AS why
 WHERE NOT EXISTS (SELECT 1 FROM sys.filegroups AS g WHERE g.name = {throw literal})
UNION ALL
SELECT CONCAT('the filegroup ', QUOTENAME(g.name), ' is the default one or PRIMARY, and takes what others make')
  FROM sys.filegroups AS g
 WHERE g.name = {throw literal}
   AND (g.is_default = 1 OR g.data_space_id = 1)
UNION ALL
SELECT CONCAT('the filegroup ', QUOTENAME(g.name), ' is not empty: ', COUNT(*), ' allocation units lie in it')
  FROM sys.filegroups AS g
  JOIN sys.allocation_units AS a ON a.data_space_id = g.data_space_id
 WHERE g.name = {throw literal}
 GROUP BY g.name
UNION ALL
SELECT CONCAT(SUSER_SNAME(), ' may not empty files, which DBCC SHRINKFILE lets members of db_owner alone')
 WHERE COALESCE(IS_ROLEMEMBER('db_owner'), 0) = 0
