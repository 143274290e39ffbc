-- What Query Store has kept: whether it is at work, and the physical reads of all plans, in pages and in operations.
-- Reads: sys.database_query_store_options, sys.query_store_runtime_stats. Since: 2017 (operations are not counted before).
-- Privilege: VIEW DATABASE STATE (2022: VIEW DATABASE PERFORMANCE STATE). Cost: one pass over the runtime statistics.
SELECT o.actual_state_desc,
       (SELECT SUM(s.avg_physical_io_reads * s.count_executions) FROM sys.query_store_runtime_stats AS s) AS pages,
       (SELECT SUM(s.avg_num_physical_io_reads * s.count_executions)
          FROM sys.query_store_runtime_stats AS s) AS operations
  FROM sys.database_query_store_options AS o
