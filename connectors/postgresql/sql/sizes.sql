-- Bytes of a few relations now: tables with TOAST, free space map and visibility map, indexes alone. Not of those that
-- a session has locked exclusively: asking would wait for the lock, so the pages that the catalog knows must do.
-- Reads: pg_class, pg_locks, the file system. Since: 14. Privilege: none. Cost: a few system calls a relation.
SELECT c.oid::bigint,
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_locks AS l
                          WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'
                            AND l.relation IN (c.oid, c.reltoastrelid))
                   OR c.reltablespace::bigint = ANY (unread.spaces)
            THEN ((c.relpages::bigint & 4294967295) + coalesce(t.relpages::bigint & 4294967295, 0)) * current_setting('block_size')::bigint
            WHEN c.relkind = 'i' THEN pg_relation_size(c.oid)
            ELSE pg_table_size(c.oid) END
  FROM pg_catalog.pg_class AS c
 CROSS JOIN (SELECT '{}'::bigint[] AS spaces) AS unread -- tablespaces whose files the server cannot use, filled in then
  LEFT JOIN pg_catalog.pg_class AS t ON t.oid = c.reltoastrelid AND c.reltoastrelid <> 0::oid
 WHERE c.oid = ANY (%(ids)s::bigint[]::oid[])
