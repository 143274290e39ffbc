-- Cumulative counters of the statements of this database that took most time so far. Without their texts, which the
-- server would read from a file. extension_schema stands for the schema that the extension is in.
-- Reads: pg_stat_statements, pg_stat_statements_info, settings, pg_database. Since: 14 (pg_stat_statements 1.9).
-- Privilege: pg_monitor (pg_read_all_stats), or other users' statements have no id. Cost: one pass over
-- pg_stat_statements.max entries in shared memory (5,000 by default: 0.05 s on a busy machine, measured), under a shared lock.
SELECT s.queryid::text AS id,
       sum(s.calls)::float8 AS executions,
       sum(s.total_exec_time)::float8 / 1000::float8 AS seconds,
       CASE WHEN current_setting('track_io_timing')::boolean THEN sum(s.read_time)::float8 / 1000::float8 END AS read_wait,
       sum(s.shared_blks_read)::float8 AS reads,
       (SELECT i.stats_reset::text FROM extension_schema.pg_stat_statements_info() AS i) AS epoch
  FROM (SELECT NULL::float8 AS blk_read_time, NULL::float8 AS shared_blk_read_time) AS missing
 CROSS JOIN LATERAL (
       -- The first until 1.10, the second since 1.11: the one that the extension does not have is that of "missing".
SELECT t.queryid, t.calls, t.total_exec_time, t.shared_blks_read, coalesce(blk_read_time, shared_blk_read_time) AS read_time
  FROM extension_schema.pg_stat_statements(false) AS t
 WHERE t.dbid = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
   AND t.queryid IS NOT NULL
       ) AS s
 GROUP BY s.queryid
 ORDER BY 3 DESC
 LIMIT %(most)s
