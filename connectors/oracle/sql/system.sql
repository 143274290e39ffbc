-- Figures of the whole database over all instances, one row a name: statistics in their own unit ('DB time' and
-- processor time in hundredths of a second), waits of foreground sessions in microseconds, and how often they waited for reads.
-- Reads: GV$SYSSTAT, GV$SYSTEM_EVENT. Since: 11.2. Privilege: SELECT on SYS.GV_$SYSSTAT, SYS.GV_$SYSTEM_EVENT.
-- Cost: a few milliseconds for each instance.
SELECT S.NAME AS NAME, SUM(S.VALUE) AS VALUE
  FROM SYS.GV_$SYSSTAT S
 WHERE S.NAME IN ('physical reads', 'user commits', 'user rollbacks', 'DB time', 'CPU used by this session')
 GROUP BY S.NAME
UNION ALL
SELECT E.EVENT, SUM(E.TIME_WAITED_MICRO_FG)
  FROM SYS.GV_$SYSTEM_EVENT E
 WHERE E.EVENT IN ('db file sequential read', 'db file scattered read', 'db file parallel read', 'direct path read',
                   'read by other session', 'cell single block physical read', 'cell multiblock physical read',
                   'direct path write', 'free buffer waits', 'write complete waits')
 GROUP BY E.EVENT
UNION ALL
SELECT 'waits: ' || E.EVENT, SUM(E.TOTAL_WAITS_FG)
  FROM SYS.GV_$SYSTEM_EVENT E
 WHERE E.EVENT IN ('db file sequential read', 'db file scattered read', 'db file parallel read', 'direct path read',
                   'read by other session', 'cell single block physical read', 'cell multiblock physical read')
 GROUP BY E.EVENT
