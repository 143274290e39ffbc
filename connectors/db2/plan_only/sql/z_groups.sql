-- Storage group of each table space partition, where a probe finds the column that says so.
-- Reads: SYSIBM.SYSTABLEPART. Since: 9. Privilege: SELECT. Cost: one row a partition.
SELECT T.DBNAME,
       T.TSNAME,
       T.PARTITION,
       T.STORNAME -- since 10.1, VARCHAR(128)
  FROM SYSIBM.SYSTABLEPART AS T
  WITH UR
