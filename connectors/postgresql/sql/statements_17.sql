-- Cumulative counters of the statements of this database that took most time so far. Without their texts, which the
-- server would read from a file. extension_schema stands for the schema that the extension is in.
-- Reads: pg_stat_statements, pg_stat_statements_info, pg_settings. Since: 17 (pg_stat_statements 1.11).
-- Privilege: pg_monitor (pg_read_all_stats), or other users' statements have no id. Cost: one pass over
-- pg_stat_statements.max entries in shared memory (5,000 by default: 0.05 s on a busy machine, measured), under a shared lock.
SELECT s.queryid::text AS id,
       sum(s.calls)::float8 AS executions,
       sum(s.total_exec_time)::float8 / 1000 AS seconds,
       CASE WHEN current_setting('track_io_timing')::boolean THEN sum(s.shared_blk_read_time)::float8 / 1000 END AS read_wait,
       sum(s.shared_blks_read)::float8 AS reads,
       (SELECT i.stats_reset::text FROM extension_schema.pg_stat_statements_info() AS i) AS epoch
  FROM extension_schema.pg_stat_statements(false) AS s
 WHERE s.dbid = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
   AND s.queryid IS NOT NULL
 GROUP BY s.queryid
 ORDER BY 3 DESC
 LIMIT %(most)s
