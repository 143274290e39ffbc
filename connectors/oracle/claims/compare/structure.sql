-- What every table and index of the scratch schema is, but where it lies: attributes, columns, constraints, keys,
-- comments, partitions, LOBs.
-- Reads: DBA_TABLES, DBA_TAB_COLUMNS, DBA_CONSTRAINTS, DBA_CONS_COLUMNS, DBA_INDEXES, DBA_IND_COLUMNS, DBA_TAB_COMMENTS,
-- DBA_COL_COMMENTS, DBA_TAB_PARTITIONS, DBA_LOBS. Since: 11.2. Privilege: SELECT on those. Cost: milliseconds.
SELECT 'table ' || T.TABLE_NAME AS WHAT,
       T.IOT_TYPE || ' ' || T.PARTITIONED || ' ' || T.PCT_FREE || ' ' || T.LOGGING || ' ' || T.DEGREE || ' '
       || T.COMPRESSION || ' ' || T.COMPRESS_FOR || ' ' || T.ROW_MOVEMENT || ' ' || T.DEPENDENCIES AS HOW
  FROM SYS.DBA_TABLES T
 WHERE T.OWNER = {literal}
UNION ALL
SELECT 'column ' || C.TABLE_NAME || '.' || C.COLUMN_NAME,
       C.COLUMN_ID || ' ' || C.DATA_TYPE || ' ' || C.DATA_LENGTH || ' ' || C.DATA_PRECISION || ' ' || C.DATA_SCALE || ' '
       || C.NULLABLE || ' ' || C.CHAR_USED
  FROM SYS.DBA_TAB_COLUMNS C
 WHERE C.OWNER = {literal}
UNION ALL
SELECT 'constraint ' || K.TABLE_NAME || '.' || K.CONSTRAINT_NAME,
       K.CONSTRAINT_TYPE || ' ' || K.R_CONSTRAINT_NAME || ' ' || K.DELETE_RULE || ' ' || K.DEFERRABLE || ' '
       || K.GENERATED || ' ' || K.INDEX_NAME
  FROM SYS.DBA_CONSTRAINTS K
 WHERE K.OWNER = {literal}
UNION ALL
SELECT 'column of constraint ' || K.CONSTRAINT_NAME || ' ' || K.COLUMN_NAME, TO_CHAR(K.POSITION)
  FROM SYS.DBA_CONS_COLUMNS K
 WHERE K.OWNER = {literal}
UNION ALL
SELECT 'index ' || I.INDEX_NAME,
       I.TABLE_NAME || ' ' || I.INDEX_TYPE || ' ' || I.UNIQUENESS || ' ' || I.COMPRESSION || ' ' || I.PARTITIONED || ' '
       || I.LOGGING || ' ' || I.DEGREE || ' ' || I.VISIBILITY
  FROM SYS.DBA_INDEXES I
 WHERE I.OWNER = {literal}
UNION ALL
SELECT 'key of ' || X.INDEX_NAME || ' ' || X.COLUMN_POSITION, X.COLUMN_NAME || ' ' || X.DESCEND
  FROM SYS.DBA_IND_COLUMNS X
 WHERE X.INDEX_OWNER = {literal}
UNION ALL
SELECT 'comment on ' || M.TABLE_NAME, M.COMMENTS
  FROM SYS.DBA_TAB_COMMENTS M
 WHERE M.OWNER = {literal}
UNION ALL
SELECT 'comment on ' || M.TABLE_NAME || '.' || M.COLUMN_NAME, M.COMMENTS
  FROM SYS.DBA_COL_COMMENTS M
 WHERE M.OWNER = {literal}
UNION ALL
SELECT 'partition ' || P.TABLE_NAME || ' ' || P.PARTITION_NAME,
       P.PARTITION_POSITION || ' ' || P.COMPRESSION || ' ' || P.LOGGING
  FROM SYS.DBA_TAB_PARTITIONS P
 WHERE P.TABLE_OWNER = {literal}
UNION ALL
SELECT 'lob ' || L.TABLE_NAME || '.' || L.COLUMN_NAME,
       L.SECUREFILE || ' ' || L.CACHE || ' ' || L.LOGGING || ' ' || L.IN_ROW || ' ' || L.COMPRESSION || ' ' || L.CHUNK
  FROM SYS.DBA_LOBS L
 WHERE L.OWNER = {literal}
