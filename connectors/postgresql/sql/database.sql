-- Cumulative figures of the current database, and everything that shows whether counters were reset. After a crash all
-- statistics are gone while the postmaster may live on: the archiver's reset time, rarely reset by anybody, shows it.
-- Reads: pg_stat_database, pg_stat_archiver. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT s.blks_read::float8,
       s.blk_read_time / 1000.0,
       s.blk_write_time / 1000.0,
       (s.xact_commit + s.xact_rollback)::float8,
       s.active_time / 1000.0,
       current_setting('track_io_timing')::boolean,
       current_setting('track_counts')::boolean,
       -- The epoch: when any part of it differs, the counters belong to another life of the server and are not
       -- compared.
       concat_ws('/', (SELECT system_identifier FROM pg_catalog.pg_control_system()), s.datid,
                 extract(epoch FROM pg_postmaster_start_time()), pg_is_in_recovery(),
                 coalesce(extract(epoch FROM s.stats_reset), 0),
                 (SELECT coalesce(extract(epoch FROM a.stats_reset), 0) FROM pg_catalog.pg_stat_archiver AS a))
  FROM pg_catalog.pg_stat_database AS s
 WHERE s.datname = current_database()
