-- Cumulative counters of the statements in the package cache that took most time so far, dynamic and static, by member and
-- section; without their texts. Times are milliseconds, of all agents; they are of the executions with metrics
-- (mon_act_metrics). Reads are pages. What is evicted goes with its counters. Before 11.1 a statement has no number of its
-- own, only sections have.
-- Reads: MON_GET_PKG_CACHE_STMT. Since: 11.1. Privilege: EXECUTE on it, which PUBLIC has not. Cost: one pass over the
-- package cache of each member, under its latches for moments; at most 2,000 rows are returned.
SELECT S.STMTID,
       S.NUM_EXEC_WITH_METRICS,
       S.STMT_EXEC_TIME,
       S.POOL_READ_TIME,
       S.DIRECT_READ_TIME,
       S.PREFETCH_WAIT_TIME,
       S.POOL_DATA_P_READS,
       S.POOL_INDEX_P_READS
  FROM TABLE(SYSPROC.MON_GET_PKG_CACHE_STMT(NULL, NULL, NULL, -2)) AS S
 WHERE S.NUM_EXEC_WITH_METRICS > 0
 ORDER BY S.STMT_EXEC_TIME DESC
 FETCH FIRST 2000 ROWS ONLY
  WITH UR
