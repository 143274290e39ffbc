-- Who may do what with every relation and column of the scratch schema.
-- Reads: pg_class, pg_attribute. Since: 14. Privilege: none. Cost: some milliseconds.
SELECT 'relation ' || c.relname, concat_ws(' ', c.relowner::regrole, c.relacl::text)
  FROM pg_catalog.pg_class AS c
 WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = {literal})
UNION ALL
SELECT 'column ' || c.relname || '.' || a.attname, a.attacl::text
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
 WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = {literal})
   AND a.attacl IS NOT NULL
