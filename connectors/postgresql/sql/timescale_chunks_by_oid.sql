-- As timescale_chunks, of a TimescaleDB whose catalog names relations by their oid.
-- extension_schema stands for the schema of TimescaleDB's catalog.
-- Reads: TimescaleDB's chunk, compression_settings and hypertable, pg_class, pg_namespace, pg_index, pg_am. Since: 16.
-- Privilege: SELECT on all three, which all users have.
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
  LEFT JOIN extension_schema.compression_settings AS s ON s.compress_relid::oid = t.oid
  LEFT JOIN extension_schema.chunk AS c ON c.relid::oid = COALESCE(s.relid::oid, t.oid)
  JOIN pg_catalog.pg_class AS w ON w.oid = COALESCE(c.relid::oid, t.oid)
  JOIN pg_catalog.pg_namespace AS p ON p.oid = w.relnamespace
  JOIN extension_schema.hypertable AS h
    ON h.id = c.hypertable_id OR (h.schema_name = n.nspname AND h.table_name = t.relname)
 WHERE t.oid = %(table)s::bigint::oid
