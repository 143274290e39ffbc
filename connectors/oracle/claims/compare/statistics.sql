-- What the optimizer knows of tables and columns, and whether an index has statistics: those are gathered again when it
-- is built again.
-- Reads: DBA_TABLES, DBA_TAB_COLUMNS, DBA_INDEXES. Since: 11.2. Privilege: SELECT on those. Cost: milliseconds.
SELECT 'rows of ' || T.TABLE_NAME AS WHAT,
       T.NUM_ROWS || ' at ' || TO_CHAR(T.LAST_ANALYZED, 'YYYY-MM-DD HH24:MI:SS') AS HOW
  FROM SYS.DBA_TABLES T
 WHERE T.OWNER = {literal}
UNION ALL
SELECT 'values of ' || C.TABLE_NAME || '.' || C.COLUMN_NAME,
       C.NUM_DISTINCT || ' at ' || TO_CHAR(C.LAST_ANALYZED, 'YYYY-MM-DD HH24:MI:SS')
  FROM SYS.DBA_TAB_COLUMNS C
 WHERE C.OWNER = {literal}
UNION ALL
SELECT 'keys of ' || I.INDEX_NAME, TO_CHAR(I.NUM_ROWS)
  FROM SYS.DBA_INDEXES I
 WHERE I.OWNER = {literal}
   AND I.INDEX_TYPE <> 'LOB'
