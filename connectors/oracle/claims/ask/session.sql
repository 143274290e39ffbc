-- What this session has read from storage so far, in blocks, and how long it has waited for that, in seconds.
-- Reads: V$MYSTAT, V$STATNAME, V$SESSION_EVENT. Since: 11.2. Privilege: SELECT on each. Cost: under 1 ms.
SELECT (SELECT S.VALUE
          FROM SYS.V_$MYSTAT S
          JOIN SYS.V_$STATNAME N ON N.STATISTIC# = S.STATISTIC#
         WHERE N.NAME = 'physical reads') AS BLOCKS,
       (SELECT COALESCE(SUM(E.TIME_WAITED_MICRO), 0) / 1000000
          FROM SYS.V_$SESSION_EVENT E
         WHERE E.SID = TO_NUMBER(SYS_CONTEXT('USERENV', 'SID'))
           AND E.WAIT_CLASS = 'User I/O') AS SECONDS
  FROM SYS.DUAL
