-- Every invalid index of the database that an interrupted REINDEX CONCURRENTLY has left, with its size, but none on a
-- table where an index is being built now.
-- Reads: pg_index, pg_class, pg_tablespace, pg_stat_progress_create_index, pg_locks, pg_database, pg_namespace.
-- Since: 14. Privilege: none.
-- Cost: one scan of pg_index.
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS index,
       quote_ident(tn.nspname) || '.' || quote_ident(t.relname) AS table,
       coalesce(s.spcname, (SELECT h.spcname
                              FROM pg_catalog.pg_database AS d
                              JOIN pg_catalog.pg_tablespace AS h ON h.oid = d.dattablespace
                             WHERE d.datname = current_database())) AS space,
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_locks AS l
                          WHERE l.relation = c.oid AND l.mode = 'AccessExclusiveLock')
                   OR c.reltablespace::bigint = ANY (unread.spaces)
            THEN (c.relpages::bigint & 4294967295) * current_setting('block_size')::bigint
            ELSE pg_relation_size(c.oid) END AS bytes,
       i.indisready AS written
  FROM pg_catalog.pg_index AS i
  JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_class AS t ON t.oid = i.indrelid
  JOIN pg_catalog.pg_namespace AS tn ON tn.oid = t.relnamespace
  LEFT JOIN pg_catalog.pg_tablespace AS s ON s.oid = c.reltablespace
 CROSS JOIN (SELECT '{}'::bigint[] AS spaces) AS unread -- tablespaces whose files the server cannot use, filled in then
 WHERE NOT i.indisvalid
   AND c.relkind = 'i'
   AND c.relname ~ '_cc(new|old)[0-9]*$'
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_create_index AS b WHERE b.relid = i.indrelid)
 ORDER BY 1
