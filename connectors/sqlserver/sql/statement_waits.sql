-- How long statements have waited for pages of files (wait category 6, Buffer IO) since a day began, in
-- milliseconds, by the hash of the query.
-- Reads: sys.query_store_wait_stats, sys.query_store_runtime_stats_interval, sys.query_store_plan, sys.query_store_query.
-- Since: 2017. Privilege: VIEW DATABASE STATE (2022: VIEW DATABASE PERFORMANCE STATE). Cost: as statements.
SELECT q.query_hash,
       SUM(w.total_query_wait_time_ms) AS milliseconds
  FROM sys.query_store_wait_stats AS w
  JOIN sys.query_store_runtime_stats_interval AS i ON i.runtime_stats_interval_id = w.runtime_stats_interval_id
  JOIN sys.query_store_plan AS p ON p.plan_id = w.plan_id
  JOIN sys.query_store_query AS q ON q.query_id = p.query_id
 WHERE i.start_time >= CONVERT(datetimeoffset, ?)
   AND w.wait_category = 6
 GROUP BY q.query_hash
