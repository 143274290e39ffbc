-- Tables and materialized query tables with storage. A partitioned one has no table space of its own: see partitions.sql.
-- Reads: SYSCAT.TABLES. Since: 9.7. Privilege: SELECT. Cost: one row each.
SELECT B.TABSCHEMA,
       B.TABNAME,
       B.TYPE,
       B.TBSPACEID,
       B.TBSPACE,
       B.INDEX_TBSPACE,
       B.LONG_TBSPACE,
       B.CARD,
       B.FPAGES
  FROM SYSCAT.TABLES AS B
 WHERE B.TYPE IN ('T', 'S', 'U')
   AND B.TABSCHEMA NOT LIKE 'SYS%'
  WITH UR
