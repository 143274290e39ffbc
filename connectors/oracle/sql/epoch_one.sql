-- As epoch.sql, of the one instance that this session is on.
-- Reads: V$INSTANCE, V$STATISTICS_LEVEL. Since: 11.2. Privilege: SELECT on SYS.V_$INSTANCE, SYS.V_$STATISTICS_LEVEL.
-- Cost: a few milliseconds.
SELECT I.INSTANCE_NUMBER, TO_CHAR(I.STARTUP_TIME, 'YYYY-MM-DD HH24:MI:SS') AS STARTED, S.SYSTEM_STATUS
  FROM SYS.V_$INSTANCE I
  JOIN SYS.V_$STATISTICS_LEVEL S ON S.STATISTICS_NAME = 'Segment Level Statistics'
