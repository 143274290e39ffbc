-- Transactions that a statement on one relation would wait for: who holds a lock on it or on its TOAST table, for what
-- attaches or detaches parts also on the whole, on all its parts and on a table that their foreign keys name, and, for what
-- builds an index online, who in this database holds a snapshot; those of prepared transactions included.
-- Autovacuum workers are listed at any age, others once their transaction is older than a number of seconds.
-- Reads: pg_stat_activity, pg_locks, pg_prepared_xacts, pg_stat_progress_vacuum, pg_class, pg_constraint, pg_inherits,
-- pg_database.
-- Since: 14.
-- Privilege: pg_read_all_stats; transactions of other roles are not seen without. Cost: some milliseconds.
WITH RECURSIVE parts AS (
    -- To lock a partitioned table locks everything below it; to attach or detach a part locks the whole.
    SELECT coalesce((SELECT h.inhparent FROM pg_catalog.pg_inherits AS h
                      WHERE h.inhrelid = %(relation)s::bigint::oid AND %(parts)s::boolean LIMIT 1),
                    %(relation)s::bigint::oid) AS oid
    UNION
    SELECT h.inhrelid FROM pg_catalog.pg_inherits AS h JOIN parts AS p ON p.oid = h.inhparent WHERE %(parts)s::boolean
), relations AS (
    SELECT c.oid, own.oid IS NOT NULL AS own
      FROM pg_catalog.pg_class AS c
      LEFT JOIN pg_catalog.pg_class AS own ON own.oid = %(relation)s::bigint::oid AND c.oid IN (own.oid, own.reltoastrelid)
     WHERE own.oid IS NOT NULL
        OR c.oid IN (SELECT p.oid FROM parts AS p)
        -- What remakes foreign keys locks the tables that they name.
        OR (%(parts)s::boolean
            AND c.oid IN (SELECT n.confrelid FROM pg_catalog.pg_constraint AS n JOIN parts AS p ON p.oid = n.conrelid
                           WHERE n.contype = 'f'))
), holders AS (
    SELECT l.pid, l.virtualtransaction, string_agg(DISTINCT l.mode, ', ' ORDER BY l.mode) AS modes,
           min(CASE WHEN r.own THEN '' ELSE r.oid::regclass::text END) AS held
      FROM pg_catalog.pg_locks AS l
      JOIN relations AS r ON r.oid = l.relation
     WHERE l.granted
       -- Relations of other databases may have the same oid.
       AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
     GROUP BY l.pid, l.virtualtransaction
)
SELECT a.pid,
       coalesce(a.application_name, '') AS application,
       coalesce(a.usename::text, '') AS login,
       coalesce(host(a.client_addr), 'local') AS client,
       coalesce(a.state, '') AS state,
       a.xact_start AS since,
       extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds,
       coalesce(a.backend_type = 'autovacuum worker', false) AS autovacuum,
       coalesce(a.query LIKE '%%(to prevent wraparound)%%', false) AS wraparound,
       '' AS prepared,
       coalesce((SELECT string_agg(h.modes, ', ') FROM holders AS h WHERE h.pid = a.pid), '') AS modes,
       upper(coalesce(substring(a.query FROM '^\s*([A-Za-z]+)'), '')) AS command, -- the rest may hold data
       coalesce((SELECT min(h.held) FROM holders AS h WHERE h.pid = a.pid), '') AS held
  FROM pg_catalog.pg_stat_activity AS a
 WHERE a.datname = current_database()
   AND a.pid <> pg_backend_pid()
   AND a.leader_pid IS NULL -- a parallel worker ends with its leader
   AND (EXISTS (SELECT FROM holders AS h WHERE h.pid = a.pid)
        OR (%(snapshots)s::boolean
            -- An index that is built online waits for every older snapshot of this database, whatever tables its
            -- transaction uses.
            AND a.backend_xmin IS NOT NULL
            AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
            -- VACUUM holds a snapshot too, but one that builders are allowed to ignore.
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_vacuum AS v WHERE v.pid = a.pid)))
   AND (a.backend_type = 'autovacuum worker'
        OR a.xact_start < clock_timestamp() - make_interval(secs => %(older)s::float8))
UNION ALL
SELECT 0, '', p.owner::text, '', 'prepared', p.prepared,
       extract(epoch FROM clock_timestamp() - p.prepared)::float8, false, false, p.gid, h.modes, '', h.held
  FROM pg_catalog.pg_prepared_xacts AS p
  -- A prepared transaction has no backend. Its locks stay under the virtual transaction in which it was prepared, which
  -- the lock on its own number shows; after a restart they are under one that is made of that number.
  JOIN pg_catalog.pg_locks AS x ON x.locktype = 'transactionid' AND x.transactionid = p.transaction AND x.pid IS NULL
  JOIN holders AS h ON h.virtualtransaction = x.virtualtransaction AND h.pid IS NULL
 WHERE p.prepared < clock_timestamp() - make_interval(secs => %(older)s::float8)
 ORDER BY since
