-- Conditions of the check constraints of one table.
-- Reads: SYSCAT.CHECKS. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT C.CONSTNAME,
       C.TYPE,
       C.TEXT
  FROM SYSCAT.CHECKS AS C
 WHERE C.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND C.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
