-- Every connection of a client: who it is, when it began, and what it has done since on each member: milliseconds waiting
-- for its client, in requests and for reads, and activities.
-- Reads: MON_GET_CONNECTION. Since: 10.5. Privilege: EXECUTE on it. Cost: one row each.
SELECT C.APPLICATION_HANDLE,
       C.CONNECTION_START_TIME,
       C.SESSION_AUTH_ID,
       C.APPLICATION_NAME,
       C.CLIENT_IDLE_WAIT_TIME,
       C.TOTAL_APP_RQST_TIME,
       C.ACT_COMPLETED_TOTAL,
       C.POOL_READ_TIME,
       C.DIRECT_READ_TIME,
       C.PREFETCH_WAIT_TIME
  FROM TABLE(SYSPROC.MON_GET_CONNECTION(NULL, -2)) AS C
  WITH UR
