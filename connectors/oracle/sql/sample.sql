-- Cumulative counters of every segment that has any, summed over the instances; one row for each pair of object and
-- segment (a moved or truncated object has a new DATAOBJ#, and its old row may linger). Statistics are matched by
-- name: their numbers differ between releases. What lives in SYSTEM and SYSAUX is never moved, and left out.
-- Reads: GV$SEGSTAT, V$TABLESPACE. Since: 11.2. Privilege: SELECT on SYS.GV_$SEGSTAT, SYS.V_$TABLESPACE.
-- Cost: one pass over a fixed table, no join with the dictionary: segments touched since start x 20 rows, of which a
-- twentieth is returned.
SELECT S.OBJ#,
       S.DATAOBJ#,
       SUM(CASE WHEN S.STATISTIC_NAME = 'logical reads' THEN S.VALUE ELSE 0 END) AS LOGICAL_READS,
       SUM(CASE WHEN S.STATISTIC_NAME = 'physical reads' THEN S.VALUE ELSE 0 END) AS BLOCKS_READ,
       SUM(CASE WHEN S.STATISTIC_NAME = 'physical reads direct' THEN S.VALUE ELSE 0 END) AS BLOCKS_DIRECT,
       SUM(CASE WHEN S.STATISTIC_NAME = 'physical read requests' THEN S.VALUE ELSE 0 END) AS REQUESTS,
       SUM(CASE WHEN S.STATISTIC_NAME = 'optimized physical reads' THEN S.VALUE ELSE 0 END) AS FROM_FLASH,
       SUM(CASE WHEN S.STATISTIC_NAME = 'physical writes' THEN S.VALUE ELSE 0 END) AS BLOCKS_WRITTEN,
       SUM(CASE WHEN S.STATISTIC_NAME = 'physical writes direct' THEN S.VALUE ELSE 0 END) AS WRITTEN_DIRECT,
       SUM(CASE WHEN S.STATISTIC_NAME = 'segment scans' THEN S.VALUE ELSE 0 END) AS SCANS
  FROM SYS.GV_$SEGSTAT S
 WHERE S.STATISTIC_NAME IN ('logical reads', 'physical reads', 'physical reads direct', 'physical read requests',
                            'optimized physical reads', 'physical writes', 'physical writes direct', 'segment scans')
   AND S.TS# NOT IN (SELECT T.TS# FROM SYS.V_$TABLESPACE T WHERE T.NAME IN ('SYSTEM', 'SYSAUX'))
 GROUP BY S.OBJ#, S.DATAOBJ#
 ORDER BY S.OBJ#, S.DATAOBJ#
