-- Pages in the buffer pool: what a look through its list of pages would cost.
-- Reads: sys.dm_os_performance_counters. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE STATE).
-- Cost: about a thousand rows are looked through.
SELECT MAX(c.cntr_value) AS pages
  FROM sys.dm_os_performance_counters AS c
 WHERE RTRIM(c.object_name) LIKE '%:Buffer Manager'
   AND RTRIM(c.counter_name) = 'Database pages'
