-- Other client sessions of the current database by kind, which is one role under one application name: how many execute
-- a statement, how many of them wait for a read, how many are in a transaction (a forgotten one left out) and for how
-- many seconds together, how many are between two for less than 1, 10 and 60 s, with the seconds since the last, and for
-- how many seconds the oldest transaction is open.
-- Reads: pg_stat_activity, pg_stat_database. Since: 14. Privilege: pg_read_all_stats; other roles' sessions are left out
-- without it. Cost: a millisecond for each thousand sessions.
SELECT b.kind,
       (count(*) FILTER (WHERE b.working))::float8,
       (count(*) FILTER (WHERE b.working AND b.reading))::float8,
       (count(*) FILTER (WHERE b.inside))::float8,
       coalesce(sum(b.began) FILTER (WHERE b.inside), 0::float8),
       (count(*) FILTER (WHERE b.between AND b.changed < 1::float8))::float8,
       coalesce(sum(b.changed) FILTER (WHERE b.between AND b.changed < 1::float8), 0::float8),
       (count(*) FILTER (WHERE b.between AND b.changed < 10::float8))::float8,
       coalesce(sum(b.changed) FILTER (WHERE b.between AND b.changed < 10::float8), 0::float8),
       (count(*) FILTER (WHERE b.between AND b.changed < 60::float8))::float8,
       coalesce(sum(b.changed) FILTER (WHERE b.between AND b.changed < 60::float8), 0::float8),
       coalesce(max(b.began) FILTER (WHERE b.inside), 0::float8)
  FROM (SELECT a.usesysid::text || '/' || a.application_name AS kind,
               a.state IN ('active', 'fastpath function call') AS working,
               -- Of a block that another session reads already, only "BufferIO" is shown.
               coalesce(a.wait_event IN ('DataFileRead', 'DataFilePrefetch', 'BufferIO', 'BufferIo'), false) AS reading,
               a.state <> 'idle'
                   AND (NOT starts_with(a.state, 'idle')
                        OR clock_timestamp() - a.state_change < interval '60 seconds') AS inside,
               a.state = 'idle' AS between,
               extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, a.query_start))::float8 AS began,
               extract(epoch FROM clock_timestamp() - a.state_change)::float8 AS changed
          FROM pg_catalog.pg_stat_activity AS a
          JOIN pg_catalog.pg_stat_database AS s ON s.datid = a.datid
         WHERE s.datname = current_database()
           AND a.pid <> pg_backend_pid()
           AND a.state IS NOT NULL
           AND a.backend_type = 'client backend') AS b
 GROUP BY b.kind
