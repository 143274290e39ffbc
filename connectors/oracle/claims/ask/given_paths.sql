-- Paths of the data files of the tablespace that is given away.
-- Reads: DBA_DATA_FILES. Since: 11.2. Privilege: SELECT on it. Cost: milliseconds.
SELECT F.FILE_NAME
  FROM SYS.DBA_DATA_FILES F
 WHERE F.TABLESPACE_NAME = {throw literal}
 ORDER BY F.FILE_ID
