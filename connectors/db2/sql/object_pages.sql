-- Sizes in pages, by data partition and member, of the tables that were touched since activation.
-- Reads: MON_GET_TABLE. Since: 9.7. Privilege: EXECUTE on it. Cost: one row a table a partition a member.
SELECT T.TABSCHEMA,
       T.TABNAME,
       T.DATA_PARTITION_ID,
       T.MEMBER,
       T.DATA_OBJECT_L_PAGES,
       T.INDEX_OBJECT_L_PAGES,
       T.LOB_OBJECT_L_PAGES,
       T.LONG_OBJECT_L_PAGES,
       T.XDA_OBJECT_L_PAGES,
       T.COL_OBJECT_L_PAGES -- since 10.5, BIGINT
  FROM TABLE(SYSPROC.MON_GET_TABLE('', '', -2)) AS T
 WHERE T.TAB_TYPE NOT IN ('CATALOG_TABLE', 'TEMP_TABLE', 'DROPPED_TABLE', 'REORG_TABLE')
  WITH UR
