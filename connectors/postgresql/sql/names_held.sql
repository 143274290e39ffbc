-- What has the names of partitions that are to be made: relations, and types, whose names a table may not have either.
-- Reads: pg_class, pg_namespace, pg_type. Since: 14. Privilege: none. Cost: a few milliseconds.
WITH wanted AS (
    SELECT k.key, n.oid AS schema, (parse_ident(k.key))[2]::name AS name
      FROM unnest(%(keys)s::text[]) AS k (key)
      JOIN pg_catalog.pg_namespace AS n ON n.nspname = (parse_ident(k.key))[1]
)
SELECT w.key, c.relkind::text AS kind, pg_get_expr(c.relpartbound, c.oid) AS bound
  FROM wanted AS w
  JOIN pg_catalog.pg_class AS c ON c.relnamespace = w.schema AND c.relname = w.name
UNION ALL
SELECT w.key, 'c', NULL
  FROM wanted AS w
  -- A relation's own row type goes with it, and the server renames the array types that it has made.
  JOIN pg_catalog.pg_type AS y ON y.typnamespace = w.schema AND y.typname = w.name AND y.typrelid = 0::oid
 WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_type AS e WHERE e.typarray = y.oid)
