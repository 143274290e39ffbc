-- What the optimizer knows: estimated rows of tables, and the statistics of columns and of indexed expressions.
-- Reads: pg_class, pg_stats. Since: 14. Privilege: none. Cost: some milliseconds.
SELECT 'rows of ' || c.relname, c.reltuples::text
  FROM pg_catalog.pg_class AS c
 WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = {literal})
   AND c.relkind IN ('r', 'm', 'p')
UNION ALL
SELECT 'statistics of ' || s.tablename || '.' || s.attname || ' ' || s.inherited, md5(s::text)
  FROM pg_catalog.pg_stats AS s
 WHERE s.schemaname = {literal}
