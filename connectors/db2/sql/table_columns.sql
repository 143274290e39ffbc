-- Columns of one table that matter to a move: large objects, and those that the server generates.
-- Reads: SYSCAT.COLUMNS. Since: 9.7. Privilege: SELECT. Cost: the columns of one table.
SELECT C.COLNAME,
       C.TYPENAME,
       C.GENERATED,
       C."IDENTITY"
  FROM SYSCAT.COLUMNS AS C
 WHERE C.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND C.TABNAME = CAST(? AS VARCHAR(128))
   AND (C.TYPENAME IN ('BLOB', 'CLOB', 'DBCLOB', 'LONG VARCHAR', 'LONG VARGRAPHIC', 'XML') OR C.GENERATED IN ('A', 'D'))
  WITH UR
