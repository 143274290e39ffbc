-- As epoch.sql, and when the container of this session was opened on each instance: closing it drops its counters.
-- Reads: GV$INSTANCE, GV$STATISTICS_LEVEL, GV$CONTAINERS. Since: 12.1. Cost: a few milliseconds for each instance.
-- Privilege: SELECT on SYS.GV_$INSTANCE, SYS.GV_$STATISTICS_LEVEL, SYS.GV_$CONTAINERS.
SELECT I.INST_ID,
       TO_CHAR(I.STARTUP_TIME, 'YYYY-MM-DD HH24:MI:SS') AS STARTED,
       S.SYSTEM_STATUS,
       TO_CHAR(C.OPEN_TIME, 'YYYY-MM-DD HH24:MI:SS') AS OPENED
  FROM SYS.GV_$INSTANCE I
  JOIN SYS.GV_$STATISTICS_LEVEL S ON S.INST_ID = I.INST_ID AND S.STATISTICS_NAME = 'Segment Level Statistics'
  LEFT JOIN SYS.GV_$CONTAINERS C ON C.INST_ID = I.INST_ID AND C.CON_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'CON_ID'))
 ORDER BY I.INST_ID
