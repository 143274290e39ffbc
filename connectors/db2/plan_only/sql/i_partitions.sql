-- On which disk units each table partition lies, and how large those are.
-- Reads: QSYS2.SYSPARTITIONDISK. Since: 7.1. Privilege: authority to the tables. Cost: a row a partition a unit; slow on
-- large systems, so seldom.
SELECT D.TABLE_SCHEMA,
       D.TABLE_NAME,
       D.TABLE_PARTITION,
       D.ASP_NUMBER,
       D.UNIT_NUMBER,
       D.UNIT_TYPE,
       D.UNIT_SPACE_USED,
       D.UNIT_MEDIA_CAPACITY,
       D.UNIT_SPACE_AVAILABLE
  FROM QSYS2.SYSPARTITIONDISK AS D
 WHERE D.TABLE_SCHEMA NOT LIKE 'Q%'
   AND D.TABLE_SCHEMA NOT LIKE 'SYS%'
  WITH UR
