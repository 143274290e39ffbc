-- What the optimizer knows of tables, columns and indexes; when it was collected may change, since SWAP may collect it again.
-- Reads: SYSCAT.TABLES, SYSCAT.COLUMNS, SYSCAT.INDEXES. Since: 9.7. Privilege: SELECT. Cost: milliseconds.
SELECT CAST('rows of ' || B.TABNAME AS VARCHAR(400)) AS WHAT, CAST(TRIM(CHAR(B.CARD)) AS VARCHAR(40)) AS HOW
  FROM SYSCAT.TABLES AS B
 WHERE B.TABSCHEMA = {literal}
UNION ALL
SELECT CAST('values of ' || C.TABNAME || '.' || C.COLNAME AS VARCHAR(400)), CAST(TRIM(CHAR(C.COLCARD)) AS VARCHAR(40))
  FROM SYSCAT.COLUMNS AS C
 WHERE C.TABSCHEMA = {literal}
UNION ALL
SELECT CAST('keys of ' || I.INDNAME AS VARCHAR(400)), CAST(TRIM(CHAR(I.FULLKEYCARD)) AS VARCHAR(40))
  FROM SYSCAT.INDEXES AS I
 WHERE I.TABSCHEMA = {literal}
   AND I.INDSCHEMA = {literal}
  WITH UR
