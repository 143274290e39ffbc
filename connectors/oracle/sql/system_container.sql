-- As system.sql, of the one container that this session is in.
-- Reads: GV$CON_SYSSTAT, GV$CON_SYSTEM_EVENT. Since: 12.1.
-- Privilege: SELECT on SYS.GV_$CON_SYSSTAT, SYS.GV_$CON_SYSTEM_EVENT. Cost: a few milliseconds for each instance.
SELECT S.NAME AS NAME, SUM(S.VALUE) AS VALUE
  FROM SYS.GV_$CON_SYSSTAT S
 WHERE S.NAME IN ('physical reads', 'user commits', 'user rollbacks', 'DB time', 'CPU used by this session')
   AND S.CON_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'CON_ID'))
 GROUP BY S.NAME
UNION ALL
SELECT E.EVENT, SUM(E.TIME_WAITED_MICRO_FG)
  FROM SYS.GV_$CON_SYSTEM_EVENT E
 WHERE E.EVENT IN ('db file sequential read', 'db file scattered read', 'db file parallel read', 'direct path read',
                   'read by other session', 'cell single block physical read', 'cell multiblock physical read',
                   'direct path write', 'free buffer waits', 'write complete waits')
   AND E.CON_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'CON_ID'))
 GROUP BY E.EVENT
UNION ALL
SELECT 'waits: ' || E.EVENT, SUM(E.TOTAL_WAITS_FG)
  FROM SYS.GV_$CON_SYSTEM_EVENT E
 WHERE E.EVENT IN ('db file sequential read', 'db file scattered read', 'db file parallel read', 'direct path read',
                   'read by other session', 'cell single block physical read', 'cell multiblock physical read')
   AND E.CON_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'CON_ID'))
 GROUP BY E.EVENT
