-- What statements of this database have done since a day (UTC) began, by the hash of the query: those with most
-- time. Over all plans and rows of an interval (what is in memory and what was flushed are two).
-- Reads: sys.query_store_runtime_stats, sys.query_store_runtime_stats_interval, sys.query_store_plan,
-- sys.query_store_query. Since: 2016. Privilege: VIEW DATABASE STATE (2022: VIEW DATABASE PERFORMANCE STATE). Cost: plans x
-- intervals of one day, at most 24 of the usual length; the day, so that it does not grow with what the store keeps.
SELECT TOP (2000)
       q.query_hash,
       SUM(s.count_executions) AS executions,
       SUM(s.avg_duration * s.count_executions) AS microseconds,
       SUM(s.avg_physical_io_reads * s.count_executions) AS pages
  FROM sys.query_store_runtime_stats AS s
  JOIN sys.query_store_runtime_stats_interval AS i ON i.runtime_stats_interval_id = s.runtime_stats_interval_id
  JOIN sys.query_store_plan AS p ON p.plan_id = s.plan_id
  JOIN sys.query_store_query AS q ON q.query_id = p.query_id
 WHERE i.start_time >= CONVERT(datetimeoffset, ?)
   AND q.is_internal_query = 0
 GROUP BY q.query_hash
 ORDER BY SUM(s.avg_duration * s.count_executions) DESC
