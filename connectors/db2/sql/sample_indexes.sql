-- Cumulative counters of every index that was touched since activation, by data partition and member. An index has no name
-- here, only its number within its table.
-- Reads: MON_GET_INDEX. Since: 10.1. Privilege: EXECUTE on it. Cost: one row an index a partition a member.
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
  FROM TABLE(SYSPROC.MON_GET_INDEX('', '', -2)) AS X
  WITH UR
