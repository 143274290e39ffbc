-- Single-block reads and writes of each tablespace with their times (hundredths of a second), over all instances.
-- Reads: GV$FILESTAT, V$DATAFILE, V$TABLESPACE. Since: 11.2. Cost: one row a file and instance.
-- Privilege: SELECT on SYS.GV_$FILESTAT, SYS.V_$DATAFILE, SYS.V_$TABLESPACE. Times are 0 while TIMED_STATISTICS is off.
SELECT T.NAME,
       SUM(F.SINGLEBLKRDS) AS READS,
       SUM(F.SINGLEBLKRDTIM) AS READ_CENTISECONDS,
       SUM(F.PHYWRTS) AS WRITES,
       SUM(F.WRITETIM) AS WRITE_CENTISECONDS
  FROM GV$FILESTAT F
  JOIN V$DATAFILE D ON D.FILE# = F.FILE#
  JOIN V$TABLESPACE T ON T.TS# = D.TS#
 WHERE T.NAME NOT IN ('SYSTEM', 'SYSAUX')
 GROUP BY T.NAME
 ORDER BY T.NAME
