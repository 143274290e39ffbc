-- Whether the extension pg_buffercache is in this database, in which schema, and whether this login may read it.
-- Reads: pg_extension, pg_class, pg_available_extensions. Since: 14. Privilege: none. Cost: a millisecond.
SELECT coalesce('pg_catalog, ' || quote_ident(n.nspname) || ', pg_temp', '') AS search_path,
       coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(v.oid, 'SELECT'), false) AS may,
       EXISTS (SELECT FROM pg_catalog.pg_available_extensions AS a WHERE a.name = 'pg_buffercache') AS available,
       quote_ident(current_user) AS login
  FROM (VALUES (1)) AS one
  LEFT JOIN pg_catalog.pg_extension AS e ON e.extname = 'pg_buffercache'
  LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
  LEFT JOIN pg_catalog.pg_class AS v ON v.relnamespace = e.extnamespace AND v.relname = 'pg_buffercache'
