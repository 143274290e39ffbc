-- Options and parameters that decide what may be offered, one row each.
-- Reads: V$OPTION, V$PARAMETER, V$STATISTICS_LEVEL, V$ARCHIVE_DEST, V$RECOVERY_FILE_DEST. Since: 11.2.
-- Privilege: SELECT on SYS.V_$OPTION, SYS.V_$PARAMETER, SYS.V_$STATISTICS_LEVEL, SYS.V_$ARCHIVE_DEST,
-- SYS.V_$RECOVERY_FILE_DEST. Cost: a few milliseconds.
SELECT 'option' AS KIND, O.PARAMETER AS NAME, O.VALUE AS VALUE
  FROM SYS.V_$OPTION O
 WHERE O.PARAMETER IN ('Partitioning', 'Online Index Build', 'Online Redefinition', 'Real Application Clusters')
UNION ALL
SELECT 'parameter', P.NAME, P.VALUE
  FROM SYS.V_$PARAMETER P
 WHERE P.NAME IN ('statistics_level', 'timed_statistics', 'compatible', 'db_block_size', 'heat_map', 'cpu_count')
UNION ALL
SELECT 'statistics', S.STATISTICS_NAME, S.SYSTEM_STATUS
  FROM SYS.V_$STATISTICS_LEVEL S
 WHERE S.STATISTICS_NAME = 'Segment Level Statistics'
UNION ALL
SELECT 'standby', A.DEST_NAME, A.STATUS
  FROM SYS.V_$ARCHIVE_DEST A
 WHERE A.TARGET = 'STANDBY' AND A.STATUS = 'VALID'
UNION ALL
SELECT 'recovery', R.NAME, TO_CHAR(R.SPACE_LIMIT - R.SPACE_USED + R.SPACE_RECLAIMABLE)
  FROM SYS.V_$RECOVERY_FILE_DEST R
 WHERE R.SPACE_LIMIT > 0
