-- Defaults of columns, whose texts are LONG and so stand in no UNION.
-- Reads: DBA_TAB_COLUMNS. Since: 11.2. Privilege: SELECT on it. Cost: milliseconds.
SELECT C.TABLE_NAME || '.' || C.COLUMN_NAME AS WHAT, C.DATA_DEFAULT
  FROM SYS.DBA_TAB_COLUMNS C
 WHERE C.OWNER = {literal}
