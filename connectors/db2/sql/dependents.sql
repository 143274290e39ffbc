-- Materialized query tables (DTYPE S) and views (V) that depend on one table.
-- Reads: SYSCAT.TABDEP. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT D.TABSCHEMA,
       D.TABNAME,
       D.DTYPE
  FROM SYSCAT.TABDEP AS D
 WHERE D.BSCHEMA = CAST(? AS VARCHAR(128))
   AND D.BNAME = CAST(? AS VARCHAR(128))
  WITH UR
