-- What sessions wait for the redo log, and reads and writes of temporary and undo files, over all instances; counts, and
-- times in microseconds (the files' are kept in hundredths of a second). Waits for the log are those of commits, writes
-- of it those of LGWR; waits for temporary files are those of direct path reads and writes of sorts and hashes.
-- Reads: GV$SYSTEM_EVENT, GV$SYSSTAT, GV$TEMPSTAT, GV$FILESTAT, V$DATAFILE, V$TABLESPACE, DBA_TABLESPACES.
-- Since: 11.2. Privilege: SELECT on SYS.GV_$ and SYS.V_$ of those, on SYS.DBA_TABLESPACES.
-- Cost: a row for each temporary and undo file and instance.
SELECT 'log' AS ROLE,
       'redo log' AS NAME,
       NULL AS READS,
       NULL AS READ_US,
       SUM(CASE WHEN E.EVENT = 'log file parallel write' THEN E.TOTAL_WAITS ELSE 0 END) AS WRITES,
       SUM(CASE WHEN E.EVENT = 'log file parallel write' THEN E.TIME_WAITED_MICRO ELSE 0 END) AS WRITE_US,
       SUM(CASE WHEN E.EVENT = 'log file sync' THEN E.TIME_WAITED_MICRO_FG ELSE 0 END) AS WAITED_US,
       NULL AS WRITTEN
  FROM SYS.GV_$SYSTEM_EVENT E
 WHERE E.EVENT IN ('log file parallel write', 'log file sync')
UNION ALL
SELECT 'log', 'redo log', NULL, NULL, NULL, NULL, NULL, SUM(S.VALUE)
  FROM SYS.GV_$SYSSTAT S
 WHERE S.NAME = 'redo size'
UNION ALL
SELECT 'temp', 'temporary tablespaces', NULL, NULL, NULL, NULL, SUM(E.TIME_WAITED_MICRO_FG), NULL
  FROM SYS.GV_$SYSTEM_EVENT E
 WHERE E.EVENT IN ('direct path read temp', 'direct path write temp')
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
