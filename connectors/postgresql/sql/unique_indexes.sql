-- Unique indexes whose order depends on a collation, which another version of the operating system may have changed: rows
-- that are equal are found among them now and then. The smallest come first. Sizes are those that VACUUM or ANALYZE saw.
-- Reads: pg_index, pg_class, pg_namespace, pg_am. Since: 14. Privilege: none.
-- Cost: one scan of pg_index.
SELECT i.indexrelid::bigint AS oid,
       quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS index,
       quote_ident(tn.nspname) || '.' || quote_ident(t.relname) AS table,
       (SELECT string_agg(pg_get_indexdef(i.indexrelid, k::integer, true), ', ' ORDER BY k)
          FROM generate_series(1, i.indnkeyatts) AS k) AS keys,
       coalesce(pg_get_expr(i.indpred, i.indrelid), '') AS predicate,
       (c.relpages::bigint & 4294967295) * current_setting('block_size')::bigint AS bytes
  FROM pg_catalog.pg_index AS i
  JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_am AS a ON a.oid = c.relam
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_class AS t ON t.oid = i.indrelid
  JOIN pg_catalog.pg_namespace AS tn ON tn.oid = t.relnamespace
 WHERE i.indisunique AND i.indisvalid AND i.indisready AND i.indislive
   AND a.amname = 'btree'
   AND c.relkind = 'i'
   AND c.relpersistence <> 't'
   AND n.nspname NOT LIKE 'pg\_%'
   AND n.nspname <> 'information_schema'
   -- 950 and 951 are C and POSIX, which sort by bytes.
   AND EXISTS (SELECT FROM unnest(i.indcollation) AS x (oid) WHERE x.oid NOT IN (0, 950, 951))
 ORDER BY c.relpages::bigint & 4294967295, 2
