-- Which table an index, a LOB or an overflow segment belongs to, one row each. Kind: 'index', 'lob', 'lobindex',
-- 'lob partition', 'lob subpartition', 'overflow'. Name and part are those of DBA_OBJECTS; detail is the index type or the LOB's column, of
-- the index of a LOB the LOB's own name;
-- table_part is the table's partition or subpartition that holds the LOB's.
-- Reads: DBA_INDEXES, DBA_LOBS, DBA_LOB_PARTITIONS, DBA_LOB_SUBPARTITIONS, DBA_TABLES. Since: 11.2.
-- Privilege: SELECT on those. Cost: a scan of each, as much as units.sql.
SELECT 'index' AS KIND, I.OWNER AS OWNER, I.INDEX_NAME AS NAME, NULL AS PART,
       I.TABLE_OWNER AS TABLE_OWNER, I.TABLE_NAME AS TABLE_NAME, NULL AS TABLE_PART, I.INDEX_TYPE AS DETAIL
  FROM SYS.DBA_INDEXES I
UNION ALL
SELECT 'lob', L.OWNER, L.SEGMENT_NAME, NULL, L.OWNER, L.TABLE_NAME, NULL, L.COLUMN_NAME
  FROM SYS.DBA_LOBS L
UNION ALL
SELECT 'lobindex', L.OWNER, L.INDEX_NAME, NULL, L.OWNER, L.TABLE_NAME, NULL, L.SEGMENT_NAME
  FROM SYS.DBA_LOBS L
UNION ALL
SELECT 'lob partition', P.TABLE_OWNER, P.LOB_NAME, P.LOB_PARTITION_NAME, P.TABLE_OWNER, P.TABLE_NAME,
       P.PARTITION_NAME, P.COLUMN_NAME
  FROM SYS.DBA_LOB_PARTITIONS P
UNION ALL
SELECT 'lob subpartition', U.TABLE_OWNER, U.LOB_NAME, U.LOB_SUBPARTITION_NAME, U.TABLE_OWNER, U.TABLE_NAME,
       U.SUBPARTITION_NAME, U.COLUMN_NAME
  FROM SYS.DBA_LOB_SUBPARTITIONS U
UNION ALL
SELECT 'overflow', T.OWNER, T.TABLE_NAME, NULL, T.OWNER, T.IOT_NAME, NULL, NULL
  FROM SYS.DBA_TABLES T
 WHERE T.IOT_TYPE = 'IOT_OVERFLOW'
