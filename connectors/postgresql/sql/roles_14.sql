-- As roles_16.sql, of servers without pg_stat_io: nothing is known of temporary tables.
-- Reads: pg_stat_wal, pg_stat_database. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT 'log' AS role,
       'pg_wal' AS name,
       NULL::float8 AS reads,
       NULL::float8 AS read_seconds,
       coalesce(nullif(w.wal_sync, 0), w.wal_write)::float8 AS writes,
       (w.wal_write_time + w.wal_sync_time) / 1000::float8 AS write_seconds,
       NULL::float8 AS waited_seconds,
       w.wal_bytes::float8 AS written_bytes,
       (SELECT sum(s.active_time) / 1000::float8 FROM pg_catalog.pg_stat_database AS s) AS active_seconds,
       current_setting('track_wal_io_timing')::boolean AS timed
  FROM pg_catalog.pg_stat_wal AS w
UNION ALL
SELECT 'temp', 'temporary files', NULL, NULL, NULL, NULL, NULL, s.temp_bytes::float8, NULL, NULL
  FROM pg_catalog.pg_stat_database AS s
 WHERE s.datname = current_database()
