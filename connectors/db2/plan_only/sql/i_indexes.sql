-- On which disk units each index lies. A spanning index comes again with every partition of its table, hence DISTINCT. CL takes
-- system names only, which were not seen in IBM's documentation of this view: where a probe finds them.
-- Reads: QSYS2.SYSPARTITIONINDEXDISK. Since: 7.1. Privilege: authority to the tables. Cost: as i_partitions.
SELECT DISTINCT
       X.INDEX_SCHEMA,
       X.INDEX_NAME,
       X.INDEX_MEMBER,
       X.TABLE_SCHEMA,
       X.TABLE_NAME,
       X.INDEX_TYPE,
       X.SYSTEM_INDEX_SCHEMA, -- since 7.1, VARCHAR(10)
       X.SYSTEM_INDEX_NAME, -- since 7.1, VARCHAR(10)
       X.ASP_NUMBER,
       X.UNIT_NUMBER,
       X.UNIT_TYPE,
       X.UNIT_SPACE_USED
  FROM QSYS2.SYSPARTITIONINDEXDISK AS X
 WHERE X.TABLE_SCHEMA NOT LIKE 'Q%'
   AND X.TABLE_SCHEMA NOT LIKE 'SYS%'
  WITH UR
