-- When each member was activated (its counters are as old as that) and what it has done since: activities, time in
-- requests, waits for the log to be written to disk, in milliseconds; when the last backup ended; and microseconds of
-- processors that requests took.
-- Reads: MON_GET_DATABASE. Since: 10.5. Privilege: EXECUTE on it. Cost: one row a member.
SELECT D.MEMBER,
       D.DB_CONN_TIME,
       D.ACT_COMPLETED_TOTAL,
       D.TOTAL_APP_RQST_TIME,
       D.LOG_DISK_WAITS_TOTAL,
       D.LOG_DISK_WAIT_TIME,
       D.LAST_BACKUP,
       D.TOTAL_CPU_TIME
  FROM TABLE(SYSPROC.MON_GET_DATABASE(-2)) AS D
  WITH UR
