-- Cumulative counters of the statements that took most time so far, without their texts: a row for each text and
-- instance. Statements that differ in literals only are texts of their own.
-- Reads: GV$SQLSTATS. Since: 11.2. Privilege: SELECT on SYS.GV_$SQLSTATS (no pack). Cost: one pass over the texts that
-- the shared pool remembers, without latches of the library cache; sorted, at most 2,000 rows are returned.
SELECT SQL_ID, EXECUTIONS, ELAPSED_TIME, USER_IO_WAIT_TIME, DISK_READS
  FROM (SELECT S.SQL_ID, S.EXECUTIONS, S.ELAPSED_TIME, S.USER_IO_WAIT_TIME, S.DISK_READS
          FROM SYS.GV_$SQLSTATS S
         WHERE S.EXECUTIONS > 0
         ORDER BY S.ELAPSED_TIME DESC)
 WHERE ROWNUM <= 2000
