-- How often sessions have waited for a page of one heap, index or partition of one to come from storage.
-- Reads: sys.dm_db_index_operational_stats. Since: 2012. Privilege: VIEW DATABASE STATE (2022: VIEW DATABASE PERFORMANCE
-- STATE). Cost: under a millisecond for one partition.
SELECT SUM(o.page_io_latch_wait_count) AS io_waits
  FROM sys.dm_db_index_operational_stats(DB_ID(), CONVERT(int, ?), CONVERT(int, ?), CONVERT(int, ?)) AS o
