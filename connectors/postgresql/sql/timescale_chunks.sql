-- The hypertable of a table that is one of its chunks, or that is one itself; no row of any other table. A table with
-- compressed rows belongs to the chunk that they were in. sorted_by: an index by which move_chunk can sort the chunk, which
-- it asks for; NULL: there is none. Of a TimescaleDB whose catalog names relations by name.
-- extension_schema stands for the schema of TimescaleDB's catalog.
-- Reads: TimescaleDB's chunk and hypertable, pg_class, pg_namespace, pg_index, pg_am. Since: 14. Privilege: SELECT on
-- both, which all users have.
-- Cost: a millisecond.
SELECT quote_ident(h.schema_name) || '.' || quote_ident(h.table_name) AS owner,
       (h.schema_name, h.table_name) <> (n.nspname, t.relname) AS is_part,
       quote_ident(p.nspname) || '.' || quote_ident(w.relname) AS chunk,
       (SELECT quote_ident(p.nspname) || '.' || quote_ident(i.relname)
          FROM pg_catalog.pg_index AS x
          JOIN pg_catalog.pg_class AS i ON i.oid = x.indexrelid
          JOIN pg_catalog.pg_am AS a ON a.oid = i.relam
         WHERE x.indrelid = w.oid AND x.indisvalid AND x.indpred IS NULL AND a.amname = 'btree'
         ORDER BY x.indisclustered DESC, x.indexrelid LIMIT 1) AS sorted_by
  FROM pg_catalog.pg_class AS t
  JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
  LEFT JOIN extension_schema.chunk AS c ON c.schema_name = n.nspname AND c.table_name = t.relname
  LEFT JOIN extension_schema.chunk AS o ON o.compressed_chunk_id = c.id
  JOIN pg_catalog.pg_namespace AS p ON p.nspname = COALESCE(o.schema_name, n.nspname)
  JOIN pg_catalog.pg_class AS w ON w.relnamespace = p.oid AND w.relname = COALESCE(o.table_name, t.relname)
  JOIN extension_schema.hypertable AS h
    ON h.id = COALESCE(o.hypertable_id, c.hypertable_id) OR (h.schema_name = n.nspname AND h.table_name = t.relname)
 WHERE t.oid = %(table)s::bigint::oid
