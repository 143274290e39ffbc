-- Invalid indexes that an interrupted REINDEX CONCURRENTLY left on a table, not those being built now.
-- Reads: pg_index, pg_class, pg_stat_progress_create_index. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT n.nspname, c.relname
  FROM pg_catalog.pg_index AS i
  JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
 WHERE i.indrelid = %(table)s::bigint::oid
   AND NOT i.indisvalid
   AND c.relname ~ '_cc(new|old)[0-9]*$'
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_create_index AS b WHERE b.index_relid = i.indexrelid)
 ORDER BY c.relname
