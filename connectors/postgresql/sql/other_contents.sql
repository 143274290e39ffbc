-- What is in a tablespace, or only names it, and is no unit, one row each: partitioned tables and indexes, which have no
-- storage but give it to new partitions, and keep the tablespace from being dropped (kind p and I, with the tablespace of
-- most of their own partitions elsewhere); sequences (S) and the system catalog (s), which lie in the default tablespace of
-- their database; temporary relations of sessions (t); other databases, by name (d). One row more has the name and the
-- default tablespace of this database (o).
-- Sizes: the main files, by the pages that the catalog knows while a session holds an exclusive lock.
-- Reads: pg_class, pg_namespace, pg_inherits, pg_locks, pg_database, pg_tablespace, pg_shdepend, the file system.
-- Since: 14. Privilege: none.
-- Cost: one scan of pg_class, a system call for each sequence and relation of the system catalog that is there, and a
-- look into the tablespace's folder, when a person asks for a drain.
WITH place AS (
    SELECT t.oid, d.oid AS own, d.dattablespace AS usual
      FROM pg_catalog.pg_tablespace AS t
      JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
     WHERE t.spcname = %(space)s
), taken AS MATERIALIZED (
    SELECT DISTINCT l.relation FROM pg_catalog.pg_locks AS l
     WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'
), found AS (
    SELECT CASE WHEN c.relpersistence = 't' THEN 't'
                WHEN c.relkind IN ('p', 'I') THEN c.relkind::text
                WHEN c.relkind = 'S' THEN 'S'
                ELSE 's' END AS kind,
           CASE WHEN c.relpersistence <> 't' AND c.relkind IN ('p', 'I')
                THEN quote_ident(n.nspname) || '.' || quote_ident(c.relname) ELSE '' END AS name,
           CASE WHEN c.relkind IN ('p', 'I') THEN 0
                -- A temporary relation can go at any time, and asking for it would wait for its session.
                WHEN c.relpersistence = 't' OR EXISTS (SELECT FROM taken WHERE taken.relation = c.oid)
                  OR p.oid::bigint = ANY (unread.spaces)
                THEN (c.relpages::bigint & 4294967295) * current_setting('block_size')::bigint
                ELSE coalesce(pg_relation_size(c.oid), 0) END AS bytes,
           CASE WHEN c.relkind IN ('p', 'I')
                THEN (SELECT ct.spcname
                        FROM pg_catalog.pg_inherits AS h
                        JOIN pg_catalog.pg_class AS child ON child.oid = h.inhrelid
                        JOIN pg_catalog.pg_tablespace AS ct
                          ON ct.oid = coalesce(nullif(child.reltablespace, 0::oid), p.usual)
                       WHERE h.inhparent = c.oid AND child.relkind IN ('r', 'i') AND ct.oid <> p.oid
                       GROUP BY ct.spcname
                       ORDER BY count(*) DESC, ct.spcname
                       LIMIT 1) END AS partitions_in
      FROM place AS p
     CROSS JOIN (SELECT '{}'::bigint[] AS spaces) AS unread -- tablespaces whose files the server cannot use, filled in then
      JOIN pg_catalog.pg_class AS c
        ON c.reltablespace = p.oid OR (c.reltablespace = 0::oid AND p.usual = p.oid AND c.relkind IN ('r', 'i', 't', 'm', 'S'))
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('p', 'I', 'S')
        OR c.relpersistence = 't'
        OR c.oid < 16384::oid
        OR n.nspname IN ('pg_catalog', 'information_schema')
)
SELECT f.kind, f.name, count(*)::int AS count, sum(f.bytes)::bigint AS bytes, max(f.partitions_in)::text AS space
  FROM found AS f
 GROUP BY f.kind, f.name
UNION ALL
SELECT 'o', quote_ident(current_database()), 1, NULL, usual.spcname
  FROM place AS p
  JOIN pg_catalog.pg_tablespace AS usual ON usual.oid = p.usual
UNION ALL
-- Of what is in other databases the shared catalogs know only this much. pg_shdepend: theirs without storage.
SELECT 'd', quote_ident(d.datname), 1, NULL, NULL
  FROM place AS p
 CROSS JOIN (SELECT '{}'::bigint[] AS spaces) AS unread
  JOIN pg_catalog.pg_database AS d ON d.oid <> p.own
 WHERE d.dattablespace = p.oid
    OR CASE WHEN p.oid::bigint = ANY (unread.spaces) THEN false
            ELSE d.oid IN (SELECT pg_tablespace_databases(p.oid)) END
    OR EXISTS (SELECT FROM pg_catalog.pg_shdepend AS s
                WHERE s.refclassid = 'pg_catalog.pg_tablespace'::regclass::oid AND s.refobjid = p.oid AND s.dbid = d.oid)
 ORDER BY 1, 2
