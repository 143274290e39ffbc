-- How well each buffer pool serves, and how well what is read ahead is used, by member. Cumulative; pages. The GBP columns
-- are those of the group buffer pool of pureScale.
-- Reads: MON_GET_BUFFERPOOL. Since: 10.1. Privilege: EXECUTE on it. Cost: one row a pool a member.
SELECT P.BP_NAME,
       P.MEMBER,
       P.BP_CUR_BUFFSZ,
       P.POOL_DATA_L_READS,
       P.POOL_INDEX_L_READS,
       P.POOL_XDA_L_READS,
       P.POOL_COL_L_READS, -- since 10.5, BIGINT
       P.POOL_TEMP_DATA_L_READS,
       P.POOL_TEMP_INDEX_L_READS,
       P.POOL_TEMP_XDA_L_READS,
       P.POOL_TEMP_COL_L_READS, -- since 10.5, BIGINT
       P.POOL_DATA_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       P.POOL_INDEX_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       P.POOL_XDA_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       P.POOL_COL_LBP_PAGES_FOUND, -- since 10.5, BIGINT
       P.POOL_ASYNC_DATA_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       P.POOL_ASYNC_INDEX_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       P.POOL_ASYNC_XDA_LBP_PAGES_FOUND, -- since 10.1, BIGINT
       P.POOL_ASYNC_COL_LBP_PAGES_FOUND, -- since 10.5, BIGINT
       P.POOL_ASYNC_DATA_READS,
       P.POOL_ASYNC_INDEX_READS,
       P.POOL_ASYNC_XDA_READS,
       P.POOL_ASYNC_COL_READS, -- since 10.5, BIGINT
       P.POOL_DATA_GBP_L_READS, -- since 10.1, BIGINT
       P.POOL_DATA_GBP_P_READS, -- since 10.1, BIGINT
       P.POOL_INDEX_GBP_L_READS, -- since 10.1, BIGINT
       P.POOL_INDEX_GBP_P_READS, -- since 10.1, BIGINT
       P.UNREAD_PREFETCH_PAGES,
       P.PREFETCH_WAIT_TIME, -- since 10.1, BIGINT
       P.PREFETCH_WAITS -- since 10.1, BIGINT
  FROM TABLE(SYSPROC.MON_GET_BUFFERPOOL('', -2)) AS P
  WITH UR
