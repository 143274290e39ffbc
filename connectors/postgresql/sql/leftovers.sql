-- Invalid indexes that an interrupted REINDEX CONCURRENTLY left on a table, with their tablespaces and sizes; none while
-- an index of the table is being built, by whomever. Where the index that was rebuilt is gone its table is not known
-- (null): then those of its schema.
-- Reads: pg_index, pg_class, pg_tablespace, pg_stat_progress_create_index, pg_locks, pg_database, pg_namespace.
-- Since: 14. Privilege: none.
-- Cost: under a millisecond.
SELECT n.nspname,
       c.relname,
       coalesce(s.spcname, (SELECT h.spcname
                              FROM pg_catalog.pg_database AS d
                              JOIN pg_catalog.pg_tablespace AS h ON h.oid = d.dattablespace
                             WHERE d.datname = current_database())) AS space,
       -- pg_relation_size takes a lock on the relation, and would wait behind the session that has it exclusively.
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_locks AS l
                          WHERE l.relation = c.oid AND l.mode = 'AccessExclusiveLock')
            THEN (c.relpages::bigint & 4294967295) * current_setting('block_size')::bigint
            ELSE pg_relation_size(c.oid) END AS bytes,
       (parse_ident(%(key)s))[2] AS rebuilt
  FROM pg_catalog.pg_index AS i
  JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_tablespace AS s ON s.oid = c.reltablespace
 WHERE (i.indrelid = %(table)s::bigint::oid OR %(table)s::bigint IS NULL AND n.nspname = (parse_ident(%(key)s))[1])
   AND NOT i.indisvalid
   AND c.relname ~ '_cc(new|old)[0-9]*$'
   -- An index that is being built is invalid until the end: dropping it would destroy the work of another session.
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_create_index AS b WHERE b.relid = i.indrelid)
 ORDER BY c.relname
