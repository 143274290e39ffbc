-- Schemas in which owners of tables may make none, so that theirs cannot be split.
-- Reads: pg_class, pg_namespace. Since: 14. Privilege: none. Cost: one scan of pg_class.
SELECT quote_ident(n.nspname) AS schema_name,
       quote_ident(pg_get_userbyid(c.relowner)) AS owner,
       count(*)::int AS tables
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
 WHERE c.oid >= 16384::oid
   AND c.relkind = 'r'
   AND c.relpersistence = 'p'
   AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
   AND NOT has_schema_privilege(c.relowner, n.oid, 'CREATE')
 GROUP BY n.nspname, c.relowner
 ORDER BY n.nspname, owner
