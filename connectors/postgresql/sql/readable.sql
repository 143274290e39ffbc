-- One relation of each tablespace but the database's own, whose file shows whether the server can use what lies there; none
-- that a session has locked exclusively, because asking for a size takes a lock.
-- Reads: pg_tablespace, pg_class, pg_locks. Since: 14. Privilege: none. Cost: one pass over pg_class.
SELECT t.oid::bigint AS space, min(c.oid)::bigint AS relation
  FROM pg_catalog.pg_tablespace AS t
  LEFT JOIN pg_catalog.pg_class AS c
    ON c.reltablespace = t.oid AND c.relkind IN ('r', 'i', 'm', 't') AND c.relpersistence <> 't'
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_locks AS l
                    WHERE l.relation = c.oid AND l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock')
 WHERE t.spcname NOT IN ('pg_global', 'pg_default')
 GROUP BY t.oid
 ORDER BY t.oid
