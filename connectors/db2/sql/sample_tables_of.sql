-- The same as sample_tables.sql of one table: what is asked where all at once takes too long.
-- Reads: MON_GET_TABLE. Since: 10.1 (object reads need mon_obj_metrics = EXTENDED). Privilege: EXECUTE on it.
-- Cost: one row a partition a member.
SELECT T.TABSCHEMA,
       T.TABNAME,
       T.DATA_PARTITION_ID,
       T.MEMBER,
       T.TBSP_ID,
       T.TAB_FILE_ID,
       T.OBJECT_DATA_L_READS, -- since 10.1, BIGINT
       T.OBJECT_DATA_P_READS, -- since 10.1, BIGINT
       T.OBJECT_XDA_L_READS, -- since 10.1, BIGINT
       T.OBJECT_XDA_P_READS, -- since 10.1, BIGINT
       T.OBJECT_COL_L_READS, -- since 10.5, BIGINT
       T.OBJECT_COL_P_READS, -- since 10.5, BIGINT
       T.TABLE_SCANS,
       T.ROWS_READ,
       T.ROWS_INSERTED,
       T.ROWS_UPDATED,
       T.ROWS_DELETED,
       T.DIRECT_READ_REQS, -- since 10.1, BIGINT
       T.DIRECT_WRITE_REQS, -- since 10.1, BIGINT
       T.DIRECT_READS, -- since 10.1, BIGINT
       T.OBJECT_DATA_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       T.OBJECT_XDA_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       T.OBJECT_COL_LBP_PAGES_FOUND -- since 10.5, BIGINT
  FROM TABLE(SYSPROC.MON_GET_TABLE(CAST(? AS VARCHAR(128)), CAST(? AS VARCHAR(128)), -2)) AS T
 WHERE T.TAB_TYPE NOT IN ('CATALOG_TABLE', 'TEMP_TABLE', 'DROPPED_TABLE', 'REORG_TABLE')
  WITH UR
