-- Tables with large objects, which have a place of their own; those of a distinct type are what it is made of.
-- Reads: SYSCAT.COLUMNS, SYSCAT.DATATYPES. Since: 9.7. Privilege: SELECT. Cost: a scan of the catalog's columns.
SELECT DISTINCT C.TABSCHEMA,
       C.TABNAME
  FROM SYSCAT.COLUMNS AS C
 WHERE C.TABSCHEMA NOT LIKE 'SYS%'
   AND (C.TYPENAME IN ('BLOB', 'CLOB', 'DBCLOB', 'LONG VARCHAR', 'LONG VARGRAPHIC', 'XML')
        OR EXISTS (SELECT 1
                     FROM SYSCAT.DATATYPES AS D
                    WHERE D.TYPESCHEMA = C.TYPESCHEMA
                      AND D.TYPENAME = C.TYPENAME
                      AND D.METATYPE = 'T'
                      AND D.SOURCENAME IN ('BLOB', 'CLOB', 'DBCLOB', 'LONG VARCHAR', 'LONG VARGRAPHIC')))
  WITH UR
