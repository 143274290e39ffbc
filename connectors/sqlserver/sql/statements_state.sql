-- Whether Query Store keeps what statements do, and whether it keeps their waits.
-- Reads: sys.database_query_store_options. Since: 2016 (waits 2017). Privilege: VIEW DATABASE STATE (2022: VIEW DATABASE
-- PERFORMANCE STATE). Cost: under a millisecond.
SELECT o.actual_state_desc,
       o.wait_stats_capture_mode_desc AS waits --@14 NULL
  FROM sys.database_query_store_options AS o
