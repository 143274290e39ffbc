-- The hypertable of a table that is one of its chunks, or that is one itself; no row of any other table.
-- extension_schema stands for the schema of TimescaleDB's catalog.
-- Reads: TimescaleDB's chunk and hypertable, pg_class, pg_namespace. Since: 14. Privilege: SELECT on both, which all
-- users have.
-- Cost: a millisecond.
SELECT quote_ident(h.schema_name) || '.' || quote_ident(h.table_name) AS owner,
       (h.schema_name, h.table_name) <> (n.nspname, t.relname) AS is_part
  FROM pg_catalog.pg_class AS t
  JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
  LEFT JOIN extension_schema.chunk AS c ON c.schema_name = n.nspname AND c.table_name = t.relname
  JOIN extension_schema.hypertable AS h
    ON h.id = c.hypertable_id OR (h.schema_name = n.nspname AND h.table_name = t.relname)
 WHERE t.oid = %(table)s::bigint::oid
