-- Columns of one table that matter to a move: large objects, also those of a distinct type, and those that the server
-- generates. Of a distinct type TYPENAME is what it is made of.
-- Reads: SYSCAT.COLUMNS, SYSCAT.DATATYPES. Since: 9.7. Privilege: SELECT. Cost: the columns of one table.
SELECT C.COLNAME,
       COALESCE((SELECT D.SOURCENAME
                   FROM SYSCAT.DATATYPES AS D
                  WHERE D.TYPESCHEMA = C.TYPESCHEMA
                    AND D.TYPENAME = C.TYPENAME
                    AND D.METATYPE = 'T'), C.TYPENAME) AS TYPENAME,
       C.GENERATED,
       C."IDENTITY"
  FROM SYSCAT.COLUMNS AS C
 WHERE C.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND C.TABNAME = CAST(? AS VARCHAR(128))
   AND (C.TYPENAME IN ('BLOB', 'CLOB', 'DBCLOB', 'LONG VARCHAR', 'LONG VARGRAPHIC', 'XML') OR C.GENERATED IN ('A', 'D')
        OR C.TYPESCHEMA NOT LIKE 'SYS%')
  WITH UR
