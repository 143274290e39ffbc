-- Index builds of one object that were paused and hold space and locks, or run now.
-- Reads: sys.index_resumable_operations. Since: 2017. Privilege: VIEW ANY DEFINITION. Cost: under a millisecond.
SELECT r.name AS index_name,
       r.sql_text,
       CONVERT(int, r.state) AS state,
       r.percent_complete,
       r.page_count,
       r.last_pause_time
  FROM sys.index_resumable_operations AS r
 WHERE r.object_id = CONVERT(int, ?)
