-- Sizes of indexes by real-time statistics; see z_table_spaces. Without its creator no statement can name an
-- index, without its index space no command.
-- Never of the catalog, the directory and the work files (DSNDB06, DSNDB01, DSNDB07).
-- Reads: SYSIBM.SYSINDEXSPACESTATS. Since: 9. Privilege: SELECT. Cost: one row a partition. Resets nothing.
SELECT X.DBNAME,
       X.NAME,
       X.PARTITION,
       X.INSTANCE,
       X.SPACE,
       X.UPDATESTATSTIME,
       X.CREATOR, -- since 10.1, VARCHAR(128)
       X.INDEXSPACE, -- since 10.1, VARCHAR(24)
       X.DRIVETYPE, -- since 10.1, VARCHAR(3)
       X.GETPAGES -- since 10.1, BIGINT
  FROM SYSIBM.SYSINDEXSPACESTATS AS X
 WHERE X.DBNAME NOT IN ('DSNDB01', 'DSNDB06', 'DSNDB07')
  WITH UR
