-- When the counters of the instance began.
-- Reads: sys.dm_os_sys_info. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE STATE).
-- Cost: under a millisecond.
SELECT CONVERT(nvarchar(33), i.sqlserver_start_time, 126) AS started_at
  FROM sys.dm_os_sys_info AS i
