-- Borders of partitions, whose texts are LONG and so stand in no UNION.
-- Reads: DBA_TAB_PARTITIONS. Since: 11.2. Privilege: SELECT on it. Cost: milliseconds.
SELECT P.TABLE_NAME || ' ' || P.PARTITION_NAME AS WHAT, P.HIGH_VALUE
  FROM SYS.DBA_TAB_PARTITIONS P
 WHERE P.TABLE_OWNER = {literal}
