-- Tables with large objects, which have a place of their own. Reads: SYSCAT.COLUMNS. Since: 9.7. Privilege: SELECT.
-- Cost: a scan of the catalog's columns.
SELECT DISTINCT C.TABSCHEMA,
       C.TABNAME
  FROM SYSCAT.COLUMNS AS C
 WHERE C.TYPENAME IN ('BLOB', 'CLOB', 'DBCLOB', 'LONG VARCHAR', 'LONG VARGRAPHIC', 'XML')
   AND C.TABSCHEMA NOT LIKE 'SYS%'
  WITH UR
