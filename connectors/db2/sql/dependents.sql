-- What depends on one table: materialized query tables (DTYPE S), staging tables (T), views (V, typed W). And a row of the
-- table itself where it is a staging table. BTYPE, because a routine may have the name of a table.
-- Reads: SYSCAT.TABDEP. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT D.TABSCHEMA,
       D.TABNAME,
       D.DTYPE
  FROM SYSCAT.TABDEP AS D
 WHERE (D.BSCHEMA = CAST(? AS VARCHAR(128)) AND D.BNAME = CAST(? AS VARCHAR(128)) AND D.BTYPE IN ('T', 'U', 'S'))
    OR (D.TABSCHEMA = CAST(? AS VARCHAR(128)) AND D.TABNAME = CAST(? AS VARCHAR(128)) AND D.DTYPE = 'T')
  WITH UR
