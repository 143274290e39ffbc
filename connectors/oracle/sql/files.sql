-- Reads and writes of each data file with their times, over all instances: single-block reads of V$FILESTAT (hundredths
-- of a second) and, where the server keeps them, the synchronous single-block reads of V$IOSTAT_FILE (thousandths).
-- Neither has the reads of a backup, which PHYRDS has. Times are 0 while TIMED_STATISTICS is off.
-- Reads: GV$FILESTAT, GV$IOSTAT_FILE, V$DATAFILE, V$TABLESPACE. Since: 11.2. Cost: two rows a file and instance.
-- Privilege: SELECT on SYS.GV_$FILESTAT, SYS.GV_$IOSTAT_FILE, SYS.V_$DATAFILE, SYS.V_$TABLESPACE.
SELECT T.NAME AS NAME,
       D.NAME AS PATH,
       SUM(C.SINGLE_READS) AS READS,
       SUM(C.SINGLE_CS) AS READ_CENTISECONDS,
       SUM(C.WRITES) AS WRITES,
       SUM(C.WRITE_CS) AS WRITE_CENTISECONDS,
       SUM(C.SYNC_READS) AS SYNC_READS,
       SUM(C.SYNC_MS) AS SYNC_MILLISECONDS
  FROM (SELECT F.FILE# AS FILE_NO, F.SINGLEBLKRDS AS SINGLE_READS, F.SINGLEBLKRDTIM AS SINGLE_CS,
               F.PHYWRTS AS WRITES, F.WRITETIM AS WRITE_CS, 0 AS SYNC_READS, 0 AS SYNC_MS
          FROM SYS.GV_$FILESTAT F
         UNION ALL
        SELECT I.FILE_NO, 0, 0, 0, 0, I.SMALL_SYNC_READ_REQS, I.SMALL_SYNC_READ_LATENCY
          FROM SYS.GV_$IOSTAT_FILE I
-- Temporary files count from 1 of their own, so FILE_NO alone would add the sorts of temporary file 5 to data file 5.
         WHERE I.FILETYPE_NAME = 'Data File') C
  JOIN SYS.V_$DATAFILE D ON D.FILE# = C.FILE_NO
  JOIN SYS.V_$TABLESPACE T ON T.TS# = D.TS#
 WHERE T.NAME NOT IN ('SYSTEM', 'SYSAUX')
 GROUP BY T.NAME, D.NAME
 ORDER BY T.NAME, D.NAME
