-- How long a page stays in memory as things are now, in seconds: a gauge, not a total. NULL where there are no counters.
-- Reads: sys.dm_os_performance_counters. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE
-- STATE). Cost: about a thousand rows are looked through.
SELECT MIN(c.cntr_value) AS page_life_seconds
  FROM sys.dm_os_performance_counters AS c
 WHERE c.cntr_type = 65792
   AND RTRIM(c.object_name) LIKE '%:Buffer Manager'
   AND RTRIM(c.counter_name) = 'Page life expectancy'
