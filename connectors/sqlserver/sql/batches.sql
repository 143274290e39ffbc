-- How long all batches of the server have taken together, in milliseconds and by all databases; what its processors
-- have done for it; and how many it may use.
-- Reads: sys.dm_os_performance_counters, sys.dm_os_sys_info. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER
-- PERFORMANCE STATE). Cost: about a thousand rows are looked through.
SELECT CONVERT(float, SUM(c.cntr_value)) AS elapsed_ms,
       CONVERT(float, MAX(i.process_kernel_time_ms + i.process_user_time_ms)) AS processor_ms,
       CONVERT(float, MAX(i.scheduler_count)) AS processors
  FROM sys.dm_os_performance_counters AS c
 CROSS JOIN sys.dm_os_sys_info AS i
 WHERE RTRIM(c.object_name) LIKE '%:Batch Resp Statistics'
   AND RTRIM(c.instance_name) = 'Elapsed Time:Total(ms)'
