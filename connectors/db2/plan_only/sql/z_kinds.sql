-- What kind each partitioned table space is: G grows by partitions (PBG), where a probe finds the column that says so.
-- Reads: SYSIBM.SYSTABLESPACE. Since: 9. Privilege: SELECT. Cost: one row a table space.
SELECT K.DBNAME,
       K.NAME,
       K.PARTITIONS,
       K.TYPE -- since 9.1, CHAR(1)
  FROM SYSIBM.SYSTABLESPACE AS K
 WHERE K.DBNAME NOT IN ('DSNDB01', 'DSNDB06', 'DSNDB07')
  WITH UR
