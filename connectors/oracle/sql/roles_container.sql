-- As roles.sql, of a session in one container: what its sessions wait for is told by container, the log writer is the
-- whole instance's, and so is how much it writes.
-- Reads: GV$SYSTEM_EVENT, GV$CON_SYSTEM_EVENT, GV$SYSSTAT, GV$TEMPSTAT, GV$FILESTAT, V$DATAFILE, V$TABLESPACE,
-- DBA_TABLESPACES. Since: 12.1. Privilege: SELECT on SYS.GV_$ and SYS.V_$ of those, on SYS.DBA_TABLESPACES.
-- Cost: a row for each temporary and undo file and instance.
SELECT 'log' AS ROLE,
       'redo log' AS NAME,
       NULL AS READS,
       NULL AS READ_US,
       SUM(CASE WHEN E.EVENT = 'log file parallel write' THEN E.TOTAL_WAITS ELSE 0 END) AS WRITES,
       SUM(CASE WHEN E.EVENT = 'log file parallel write' THEN E.TIME_WAITED_MICRO ELSE 0 END) AS WRITE_US,
       NULL AS WAITED_US,
       NULL AS WRITTEN
  FROM SYS.GV_$SYSTEM_EVENT E
 WHERE E.EVENT IN ('log file parallel write')
UNION ALL
SELECT 'log', 'redo log', NULL, NULL, NULL, NULL, SUM(C.TIME_WAITED_MICRO_FG), NULL
  FROM SYS.GV_$CON_SYSTEM_EVENT C
 WHERE C.EVENT = 'log file sync'
   AND C.CON_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'CON_ID'))
UNION ALL
SELECT 'log', 'redo log', NULL, NULL, NULL, NULL, NULL, SUM(S.VALUE)
  FROM SYS.GV_$SYSSTAT S
 WHERE S.NAME = 'redo size'
UNION ALL
SELECT 'temp', 'temporary tablespaces', NULL, NULL, NULL, NULL, SUM(C.TIME_WAITED_MICRO_FG), NULL
  FROM SYS.GV_$CON_SYSTEM_EVENT C
 WHERE C.EVENT IN ('direct path read temp', 'direct path write temp')
   AND C.CON_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'CON_ID'))
UNION ALL
SELECT 'temp', 'temporary tablespaces', SUM(A.PHYRDS), SUM(A.READTIM) * 10000, SUM(A.PHYWRTS), SUM(A.WRITETIM) * 10000,
       NULL, NULL
  FROM SYS.GV_$TEMPSTAT A
UNION ALL
SELECT 'undo', T.NAME, SUM(F.SINGLEBLKRDS), SUM(F.SINGLEBLKRDTIM) * 10000, SUM(F.PHYWRTS), SUM(F.WRITETIM) * 10000,
       SUM(F.SINGLEBLKRDTIM) * 10000, NULL
  FROM SYS.GV_$FILESTAT F
  JOIN SYS.V_$DATAFILE D ON D.FILE# = F.FILE#
  JOIN SYS.V_$TABLESPACE T ON T.TS# = D.TS#
  JOIN SYS.DBA_TABLESPACES X ON X.TABLESPACE_NAME = T.NAME
 WHERE X.CONTENTS = 'UNDO'
 GROUP BY T.NAME
