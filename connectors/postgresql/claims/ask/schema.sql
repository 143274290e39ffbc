-- Why the scratch schema cannot be used, one sentence a row: it is missing, another's, or not empty.
-- Reads: pg_namespace, pg_class, pg_proc, pg_type. Since: 14. Privilege: none. Cost: some milliseconds.
SELECT 'there is no schema ' || quote_ident({literal})
 WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_namespace AS n WHERE n.nspname = {literal})
UNION ALL
SELECT 'the schema ' || quote_ident({literal}) || ' has the name of a keyword; give it another'
 WHERE quote_ident({literal}) <> {spelled}
UNION ALL
SELECT 'the schema ' || quote_ident(n.nspname) || ' belongs to ' || n.nspowner::regrole || ', not to ' || current_user
  FROM pg_catalog.pg_namespace AS n
 WHERE n.nspname = {literal}
   AND n.nspowner <> (SELECT r.oid FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user)
UNION ALL
(SELECT 'the schema ' || quote_ident(n.nspname) || ' is not empty: it holds ' || o.what || ' ' || quote_ident(o.name)
   FROM pg_catalog.pg_namespace AS n
  CROSS JOIN LATERAL (
      SELECT 'the relation' AS what, c.relname AS name
        FROM pg_catalog.pg_class AS c WHERE c.relnamespace = n.oid
      UNION ALL
      SELECT 'the function', p.proname FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = n.oid
      UNION ALL
      SELECT 'the type', t.typname
        FROM pg_catalog.pg_type AS t WHERE t.typnamespace = n.oid AND t.typrelid = 0 AND t.typelem = 0
  ) AS o
  WHERE n.nspname = {literal}
  ORDER BY o.what DESC, o.name
  LIMIT 5)
