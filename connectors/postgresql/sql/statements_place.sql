-- Where pg_stat_statements is installed in this database, its version, whether the server has loaded its library (which
-- alone knows its settings), and whether this login may see what others sent.
-- Reads: pg_extension, pg_namespace. Since: 14. Privilege: none; pg_monitor (pg_read_all_stats) to see statements of
-- other users. Cost: a look-up.
SELECT quote_ident(n.nspname) AS schema,
       e.extversion AS version,
       current_setting('pg_stat_statements.max', true) IS NOT NULL AS loaded,
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS may
  FROM pg_catalog.pg_extension AS e
  JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
 WHERE e.extname = 'pg_stat_statements'
