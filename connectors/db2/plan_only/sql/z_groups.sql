-- Storage group of each table space partition, where a probe finds the columns that say so: with STORTYPE E, STORNAME is a
-- catalog and no storage group.
-- Never of the catalog, the directory and the work files (DSNDB06, DSNDB01, DSNDB07).
-- Reads: SYSIBM.SYSTABLEPART. Since: 9. Privilege: SELECT. Cost: one row a partition.
SELECT T.DBNAME,
       T.TSNAME,
       T.PARTITION,
       T.STORTYPE, -- since 10.1, CHAR(1)
       T.STORNAME -- since 10.1, VARCHAR(128)
  FROM SYSIBM.SYSTABLEPART AS T
 WHERE T.DBNAME NOT IN ('DSNDB01', 'DSNDB06', 'DSNDB07')
  WITH UR
