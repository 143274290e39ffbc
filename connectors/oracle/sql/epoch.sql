-- What tells that counters started anew: each instance with its start, and whether segments are counted there.
-- Read before and after the counters; two different answers mean that the counters belong to neither.
-- Reads: GV$INSTANCE, GV$STATISTICS_LEVEL. Since: 11.2. Cost: a few milliseconds for each instance.
-- Privilege: SELECT on SYS.GV_$INSTANCE, SYS.GV_$STATISTICS_LEVEL.
SELECT I.INST_ID, TO_CHAR(I.STARTUP_TIME, 'YYYY-MM-DD HH24:MI:SS') AS STARTED, S.SYSTEM_STATUS
  FROM SYS.GV_$INSTANCE I
  JOIN SYS.GV_$STATISTICS_LEVEL S ON S.INST_ID = I.INST_ID AND S.STATISTICS_NAME = 'Segment Level Statistics'
 ORDER BY I.INST_ID
