-- Cumulative counters of every table space by member. Times are milliseconds, reads and writes are pages, direct reads are
-- sectors of 512 bytes; requests are I/Os.
-- Reads: MON_GET_TABLESPACE. Since: 10.1. Privilege: EXECUTE on it. Cost: one row a table space a member.
SELECT T.TBSP_ID,
       T.MEMBER,
       T.TBSP_NAME,
       T.TBSP_CONTENT_TYPE,
       T.STORAGE_GROUP_NAME, -- since 10.1, VARCHAR(128)
       T.POOL_DATA_L_READS,
       T.POOL_INDEX_L_READS,
       T.POOL_XDA_L_READS,
       T.POOL_COL_L_READS, -- since 10.5, BIGINT
       T.POOL_TEMP_DATA_L_READS,
       T.POOL_TEMP_INDEX_L_READS,
       T.POOL_TEMP_XDA_L_READS,
       T.POOL_TEMP_COL_L_READS, -- since 10.5, BIGINT
       T.POOL_DATA_P_READS,
       T.POOL_INDEX_P_READS,
       T.POOL_XDA_P_READS,
       T.POOL_COL_P_READS, -- since 10.5, BIGINT
       T.POOL_TEMP_DATA_P_READS,
       T.POOL_TEMP_INDEX_P_READS,
       T.POOL_TEMP_XDA_P_READS,
       T.POOL_TEMP_COL_P_READS, -- since 10.5, BIGINT
       T.POOL_ASYNC_DATA_READS,
       T.POOL_ASYNC_INDEX_READS,
       T.POOL_ASYNC_XDA_READS,
       T.POOL_ASYNC_COL_READS, -- since 10.5, BIGINT
       T.POOL_DATA_WRITES,
       T.POOL_INDEX_WRITES,
       T.POOL_XDA_WRITES,
       T.POOL_COL_WRITES, -- since 10.5, BIGINT
       T.POOL_ASYNC_DATA_WRITES,
       T.POOL_ASYNC_INDEX_WRITES,
       T.POOL_ASYNC_XDA_WRITES,
       T.POOL_ASYNC_COL_WRITES, -- since 10.5, BIGINT
       T.POOL_DATA_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       T.POOL_INDEX_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       T.POOL_XDA_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       T.POOL_COL_LBP_PAGES_FOUND, -- since 10.5, BIGINT
       T.POOL_ASYNC_DATA_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       T.POOL_ASYNC_INDEX_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       T.POOL_ASYNC_XDA_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       T.POOL_ASYNC_COL_LBP_PAGES_FOUND, -- since 10.5, BIGINT
       T.POOL_READ_TIME,
       T.POOL_ASYNC_READ_TIME,
       T.POOL_WRITE_TIME,
       T.POOL_ASYNC_WRITE_TIME,
       T.PREFETCH_WAIT_TIME, -- since 10.1, BIGINT
       T.DIRECT_READS,
       T.DIRECT_READ_REQS,
       T.DIRECT_READ_TIME,
       T.DIRECT_WRITE_REQS,
       T.DIRECT_WRITE_TIME
  FROM TABLE(SYSPROC.MON_GET_TABLESPACE('', -2)) AS T
  WITH UR
