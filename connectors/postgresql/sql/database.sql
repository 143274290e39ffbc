-- Cumulative figures of the current database, and everything that shows whether counters were reset. After a crash all
-- statistics are gone while the postmaster may live on: the archiver's reset time, rarely reset by anybody, shows it.
-- Then its other client sessions by what they do: how many work, and how many are idle for less than 1, 10 and 60 s, in
-- a transaction or not; and how many cannot be told.
-- Reads: pg_stat_database, pg_stat_archiver, pg_stat_activity. Since: 14. Privilege: pg_read_all_stats for the state of
-- other roles' sessions. Cost: a millisecond for each thousand sessions.
SELECT s.blks_read::float8,
       s.blk_read_time / 1000::float8,
       s.blk_write_time / 1000::float8,
       (s.xact_commit + s.xact_rollback)::float8,
       s.active_time / 1000::float8,
       current_setting('track_io_timing')::boolean,
       current_setting('track_counts')::boolean,
       -- The epoch: when any part of it differs, the counters belong to another life of the server and are not
       -- compared.
       concat_ws('/', (SELECT system_identifier FROM pg_catalog.pg_control_system()), s.datid,
                 extract(epoch FROM pg_postmaster_start_time()), pg_is_in_recovery(),
                 coalesce(extract(epoch FROM s.stats_reset), 0),
                 (SELECT coalesce(extract(epoch FROM a.stats_reset), 0) FROM pg_catalog.pg_stat_archiver AS a)),
       c.working::float8,
       c.idle_1::float8,
       c.idle_10::float8,
       c.idle_60::float8,
       c.hidden::float8
  FROM pg_catalog.pg_stat_database AS s
 CROSS JOIN LATERAL (
       SELECT count(*) FILTER (WHERE b.working) AS working,
              count(*) FILTER (WHERE NOT b.working AND b.idle < interval '1 second') AS idle_1,
              count(*) FILTER (WHERE NOT b.working AND b.idle < interval '10 seconds') AS idle_10,
              count(*) FILTER (WHERE NOT b.working AND b.idle < interval '60 seconds') AS idle_60,
              count(*) FILTER (WHERE b.working IS NULL) AS hidden
         FROM (SELECT CASE WHEN a.state IN ('active', 'fastpath function call') THEN true
                           WHEN starts_with(a.state, 'idle') THEN false
                      END AS working,
                      clock_timestamp() - a.state_change AS idle
                 FROM pg_catalog.pg_stat_activity AS a
                WHERE a.datid = s.datid
                  AND a.pid <> pg_backend_pid()
                  -- Of a session that the login may not see, the kind is hidden with its state.
                  AND coalesce(a.backend_type, 'client backend') = 'client backend') AS b) AS c
 WHERE s.datname = current_database()
