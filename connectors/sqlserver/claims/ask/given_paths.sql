-- Paths of the files of the filegroup that is given away.
-- Reads: sys.filegroups, sys.database_files. Since: 2012. Privilege: none. Cost: under a millisecond.
SELECT f.physical_name
  FROM sys.filegroups AS g
  JOIN sys.database_files AS f ON f.data_space_id = g.data_space_id
 WHERE g.name = {throw literal}
 ORDER BY f.file_id
