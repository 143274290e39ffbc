-- Partitions of a table and where their ranges end. The bound is LONG, so it stands in no join.
-- Reads: DBA_TAB_PARTITIONS. Since: 11.2. Privilege: SELECT on it. Cost: by name, milliseconds.
SELECT P.PARTITION_NAME, P.TABLESPACE_NAME, P.PARTITION_POSITION, P.HIGH_VALUE
  FROM SYS.DBA_TAB_PARTITIONS P
 WHERE P.TABLE_OWNER = :owner AND P.TABLE_NAME = :name
