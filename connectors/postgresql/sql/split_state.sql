-- Where the split of a table stands: what has its name now, whether the constraint of the split is anywhere, and whether its
-- cold part is a part of it; what its hot part is; whether it has statistics, and what moved rows have left dead in the cold part.
-- Reads: pg_class, pg_namespace, pg_constraint, pg_inherits, pg_locks, counters of two tables. Since: 14. Privilege: none.
-- Cost: a few milliseconds.
WITH named AS (
    SELECT c.oid, c.relname, c.relkind, c.reltuples, c.relpages
      FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = %(schema)s AND c.relname IN (%(name)s, %(cold)s, %(hot)s)
)
SELECT t.oid::bigint AS oid,
       t.relkind::text AS kind,
       EXISTS (SELECT FROM pg_catalog.pg_constraint AS n WHERE n.conname = %(check)s AND n.coninhcount = 0) AS checked,
       cold.oid::bigint AS cold_oid,
       EXISTS (SELECT FROM pg_catalog.pg_inherits AS h WHERE h.inhparent = t.oid AND h.inhrelid = cold.oid) AS attached,
       hot.relkind::text AS hot_kind,
       -- Asking for a size takes a lock on the relation, and would wait behind who has it exclusively: the last one known.
       coalesce(CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_locks AS l
                                   WHERE l.relation = hot.oid AND l.mode = 'AccessExclusiveLock')
                     THEN (hot.relpages::bigint & 4294967295) * current_setting('block_size')::bigint
                     ELSE pg_table_size(hot.oid) END, 0) AS hot_bytes,
       coalesce(t.reltuples >= 0::real, false) AS analyzed,
       -- What is in the new part was dead in the cold one until VACUUM had come; counters of a crashed server begin at 0.
       pg_stat_get_dead_tuples(cold.oid)::float8 / greatest(pg_stat_get_live_tuples(hot.oid), 1)::float8 AS dead,
       current_setting('track_counts') = 'off'
       OR greatest(pg_stat_get_last_vacuum_time(cold.oid), pg_stat_get_last_autovacuum_time(cold.oid)) IS NOT NULL
          AS emptied
  FROM (SELECT) AS once
  LEFT JOIN named AS t ON t.relname = %(name)s
  LEFT JOIN named AS cold ON cold.relname = %(cold)s
  LEFT JOIN named AS hot ON hot.relname = %(hot)s
