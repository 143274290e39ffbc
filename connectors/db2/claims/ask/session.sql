-- Pages that this session has read from storage so far, and how long it has waited for reads, in seconds; on all members.
-- Reads: MON_GET_CONNECTION. Since: 10.1. Privilege: EXECUTE on it. Cost: one row a member.
SELECT COALESCE(SUM(C.POOL_DATA_P_READS + C.POOL_INDEX_P_READS + C.POOL_XDA_P_READS), 0) AS BLOCKS,
       COALESCE(SUM(C.POOL_READ_TIME + C.PREFETCH_WAIT_TIME + C.DIRECT_READ_TIME), 0) / 1000.0 AS SECONDS
  FROM TABLE(SYSPROC.MON_GET_CONNECTION(NULL, -2)) AS C
 WHERE C.APPLICATION_HANDLE = SYSPROC.MON_GET_APPLICATION_HANDLE()
  WITH UR
