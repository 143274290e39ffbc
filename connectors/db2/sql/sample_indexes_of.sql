-- The same as sample_indexes.sql of the indexes of one table: what is asked where all at once takes too long.
-- Reads: MON_GET_INDEX. Since: 10.1. Privilege: EXECUTE on it.
-- Cost: one row an index a partition a member.
SELECT X.TABSCHEMA,
       X.TABNAME,
       X.IID,
       X.DATA_PARTITION_ID,
       X.MEMBER,
       X.OBJECT_INDEX_L_READS, -- since 10.1, BIGINT
       X.OBJECT_INDEX_P_READS, -- since 10.1, BIGINT
       X.INDEX_SCANS,
       X.KEY_UPDATES,
       X.OBJECT_INDEX_LBP_PAGES_FOUND -- since 10.1, BIGINT
  FROM TABLE(SYSPROC.MON_GET_INDEX(CAST(? AS VARCHAR(128)), CAST(? AS VARCHAR(128)), -2)) AS X
  WITH UR
