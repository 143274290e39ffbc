-- Whether every index can be used and every constraint has been checked.
-- Reads: pg_index, pg_constraint, pg_class. Since: 14. Privilege: none. Cost: some milliseconds.
SELECT 'index ' || c.relname, concat_ws(' ', x.indisvalid, x.indisready, x.indislive, x.indcheckxmin)
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_index AS x ON x.indexrelid = c.oid
 WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = {literal})
UNION ALL
SELECT 'constraint ' || k.conname, k.convalidated::text
  FROM pg_catalog.pg_constraint AS k
 WHERE k.connamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = {literal})
