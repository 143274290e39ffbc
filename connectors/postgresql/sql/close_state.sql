-- Where the closing of an open part stands: the part and the one behind it, each with its range where it belongs to the table,
-- and whether the constraint of the closing is anywhere: its table may have been renamed.
-- Reads: pg_class, pg_namespace, pg_constraint, pg_inherits, pg_tablespace, pg_locks, pg_database. Since: 14. Privilege:
-- none. Cost: a few milliseconds.
WITH named AS (
    SELECT c.oid, c.relname, c.relkind, c.relpages, c.reltablespace,
           (SELECT pg_get_expr(c.relpartbound, c.oid) FROM pg_catalog.pg_inherits AS h
             WHERE h.inhrelid = c.oid AND h.inhparent = %(oid)s::bigint::oid AND NOT h.inhdetachpending) AS bound
      FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = %(schema)s AND c.relname IN (%(part)s, %(next)s)
)
SELECT part.oid::bigint AS part_oid,
       part.bound AS part_bound,
       (SELECT s.spcname FROM pg_catalog.pg_tablespace AS s, pg_catalog.pg_database AS d
         WHERE d.datname = current_database() AND s.oid = coalesce(nullif(part.reltablespace, 0::oid), d.dattablespace)) AS space,
       next.oid::bigint AS next_oid,
       next.bound AS next_bound,
       EXISTS (SELECT FROM pg_catalog.pg_constraint AS n WHERE n.conname = %(check)s AND n.coninhcount = 0) AS checked,
       -- Asking for a size takes a lock on the relation, and would wait behind who has it exclusively: the last one known.
       coalesce(CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_locks AS l
                                   WHERE l.relation = next.oid AND l.mode = 'AccessExclusiveLock')
                     THEN (next.relpages::bigint & 4294967295) * current_setting('block_size')::bigint
                     ELSE pg_table_size(next.oid) END, 0) AS next_bytes,
       part.relkind::text AS part_kind,
       next.relkind::text AS next_kind
  FROM (SELECT) AS once
  LEFT JOIN named AS part ON part.relname = %(part)s
  LEFT JOIN named AS next ON next.relname = %(next)s
