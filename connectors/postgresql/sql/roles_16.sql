-- As roles.sql, of servers whose pg_stat_io knows temporary tables and not the log: the log's times are those of all
-- processes, so how much of them sessions waited for is unknown.
-- Reads: pg_stat_wal, pg_stat_io, pg_stat_database. Since: 16. Privilege: none. Cost: about fifty rows.
WITH session AS (
    SELECT sum(s.active_time) / 1000::float8 AS active_seconds FROM pg_catalog.pg_stat_database AS s)
SELECT 'log' AS role,
       'pg_wal' AS name,
       NULL::float8 AS reads,
       NULL::float8 AS read_seconds,
       coalesce(nullif(w.wal_sync, 0), w.wal_write)::float8 AS writes,
       (w.wal_write_time + w.wal_sync_time) / 1000::float8 AS write_seconds,
       NULL::float8 AS waited_seconds,
       w.wal_bytes::float8 AS written_bytes,
       (SELECT active_seconds FROM session) AS active_seconds,
       current_setting('track_wal_io_timing')::boolean AS timed
  FROM pg_catalog.pg_stat_wal AS w
UNION ALL
SELECT 'temp',
       'temporary tables',
       sum(i.reads)::float8,
       sum(i.read_time) / 1000::float8,
       (sum(i.writes) + sum(i.extends))::float8,
       (sum(i.write_time) + sum(i.extend_time)) / 1000::float8,
       (sum(i.read_time) + sum(i.write_time) + sum(i.extend_time)) / 1000::float8,
       sum((i.writes + i.extends) * i.op_bytes)::float8,
       (SELECT active_seconds FROM session),
       current_setting('track_io_timing')::boolean
  FROM pg_catalog.pg_stat_io AS i
 WHERE i.object = 'temp relation'
UNION ALL
SELECT 'temp', 'temporary files', NULL, NULL, NULL, NULL, NULL, s.temp_bytes::float8, NULL, NULL
  FROM pg_catalog.pg_stat_database AS s
 WHERE s.datname = current_database()
