-- The same as sample.sql of one heap or table with its indexes: what is asked where all at once takes too long. An
-- object_id is never NULL here; NULL would mean every object.
-- Reads: sys.dm_db_index_operational_stats. Since: 2012. Privilege: VIEW DATABASE STATE (2022: VIEW DATABASE
-- PERFORMANCE STATE). Cost: grows with the partitions of that object.
SELECT o.object_id,
       o.index_id,
       o.partition_number,
       SUM(o.page_io_latch_wait_count) AS io_waits,
       SUM(o.page_io_latch_wait_in_ms) AS io_wait_ms,
       SUM(o.tree_page_io_latch_wait_count) AS tree_io_waits,
       SUM(o.singleton_lookup_count) AS lookups,
       SUM(o.range_scan_count) AS scans,
       SUM(o.forwarded_fetch_count) AS forwarded,
       SUM(o.lob_fetch_in_pages) AS lob_pages,
       SUM(o.row_overflow_fetch_in_pages) AS overflow_pages,
       SUM(o.leaf_insert_count) AS inserted,
       SUM(o.leaf_update_count + o.leaf_delete_count) AS changed
  FROM sys.dm_db_index_operational_stats(DB_ID(), CONVERT(int, ?), NULL, NULL) AS o
 GROUP BY o.object_id, o.index_id, o.partition_number
