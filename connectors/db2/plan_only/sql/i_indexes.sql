-- On which disk units each index lies. A spanning index comes again with every partition of its table, hence DISTINCT.
-- Reads: QSYS2.SYSPARTITIONINDEXDISK. Since: 7.1. Privilege: authority to the tables. Cost: as i_partitions.
SELECT DISTINCT
       X.INDEX_SCHEMA,
       X.INDEX_NAME,
       X.INDEX_MEMBER,
       X.TABLE_SCHEMA,
       X.TABLE_NAME,
       X.ASP_NUMBER,
       X.UNIT_NUMBER,
       X.UNIT_TYPE,
       X.UNIT_SPACE_USED
  FROM QSYS2.SYSPARTITIONINDEXDISK AS X
 WHERE X.TABLE_SCHEMA NOT LIKE 'Q%'
   AND X.TABLE_SCHEMA NOT LIKE 'SYS%'
  WITH UR
