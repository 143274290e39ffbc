-- What kind each table space is: G grows by partitions (PBG), where a probe finds the column that says so; of a space of XML
-- documents (P) the most partitions that it may grow to, which is 0 for one by range.
-- Reads: SYSIBM.SYSTABLESPACE. Since: 9. Privilege: SELECT. Cost: one row a table space.
SELECT K.DBNAME,
       K.NAME,
       K.PARTITIONS,
       K.TYPE, -- since 9.1, CHAR(1)
       K.MAXPARTITIONS -- since 9.1, SMALLINT
  FROM SYSIBM.SYSTABLESPACE AS K
 WHERE K.DBNAME NOT IN ('DSNDB01', 'DSNDB06', 'DSNDB07')
  WITH UR
