-- Storage group of each index, or of each partition of a partitioned one: with STORTYPE E, STORNAME is a catalog and no
-- storage group. Never of indexes of the catalog.
-- Reads: SYSIBM.SYSINDEXPART. Since: 9. Privilege: SELECT. Cost: one row a partition.
SELECT N.IXCREATOR,
       N.IXNAME,
       N.PARTITION,
       N.STORTYPE,
       N.STORNAME
  FROM SYSIBM.SYSINDEXPART AS N
 WHERE N.IXCREATOR <> 'SYSIBM'
  WITH UR
