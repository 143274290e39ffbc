-- Sizes of table spaces by real-time statistics. They lag behind, may be negative for a while, and anybody may edit them.
-- Never of the catalog, the directory and the work files (DSNDB06, DSNDB01, DSNDB07).
-- Reads: SYSIBM.SYSTABLESPACESTATS. Since: 9. Privilege: SELECT. Cost: one row a partition. Resets nothing.
SELECT S.DBNAME,
       S.NAME,
       S.PARTITION,
       S.INSTANCE,
       S.SPACE,
       S.UPDATESTATSTIME,
       S.DRIVETYPE, -- since 10.1, VARCHAR(3)
       S.GETPAGES -- since 10.1, BIGINT
  FROM SYSIBM.SYSTABLESPACESTATS AS S
 WHERE S.DBNAME NOT IN ('DSNDB01', 'DSNDB06', 'DSNDB07')
  WITH UR
