-- Cumulative I/O of the write-ahead log, of temporary tables and of temporary files, over the whole cluster but for the
-- files. A flush is a write and an fsync: there are as many as fsyncs, or as writes where wal_sync_method has no fsync.
-- waited: by client backends themselves; who waits for the flush of another is not in it.
-- Reads: pg_stat_io (object wal since 18), pg_stat_wal, pg_stat_database. Since: 18. Privilege: none. Cost: about a
-- hundred rows, under a millisecond.
WITH session AS (
    SELECT sum(s.active_time) / 1000::float8 AS active_seconds FROM pg_catalog.pg_stat_database AS s)
SELECT 'log' AS role,
       'pg_wal' AS name,
       NULL::float8 AS reads,
       NULL::float8 AS read_seconds,
       coalesce(nullif(sum(i.fsyncs), 0::numeric), sum(i.writes))::float8 AS writes,
       (sum(i.write_time) + sum(i.fsync_time)) / 1000::float8 AS write_seconds,
       (coalesce(sum(i.write_time) FILTER (WHERE i.backend_type = 'client backend'), 0)
        + coalesce(sum(i.fsync_time) FILTER (WHERE i.backend_type = 'client backend'), 0)) / 1000::float8 AS waited_seconds,
       (SELECT w.wal_bytes::float8 FROM pg_catalog.pg_stat_wal AS w) AS written_bytes,
       (SELECT active_seconds FROM session) AS active_seconds,
       current_setting('track_wal_io_timing')::boolean AS timed
  FROM pg_catalog.pg_stat_io AS i
 WHERE i.object = 'wal'
UNION ALL
SELECT 'temp',
       'temporary tables',
       sum(i.reads)::float8,
       sum(i.read_time) / 1000::float8,
       (sum(i.writes) + sum(i.extends))::float8,
       (sum(i.write_time) + sum(i.extend_time)) / 1000::float8,
       (sum(i.read_time) + sum(i.write_time) + sum(i.extend_time)) / 1000::float8,
       (sum(i.write_bytes) + sum(i.extend_bytes))::float8,
       (SELECT active_seconds FROM session),
       current_setting('track_io_timing')::boolean
  FROM pg_catalog.pg_stat_io AS i
 WHERE i.object = 'temp relation'
UNION ALL
SELECT 'temp', 'temporary files', NULL, NULL, NULL, NULL, NULL, s.temp_bytes::float8, NULL, NULL
  FROM pg_catalog.pg_stat_database AS s
 WHERE s.datname = current_database()
