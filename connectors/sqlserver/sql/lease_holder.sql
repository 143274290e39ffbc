-- Who holds the lease. The description of an application lock holds the first characters of its name.
-- Reads: sys.dm_tran_locks, sys.dm_exec_sessions. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER
-- PERFORMANCE STATE). Cost: a row for each lock.
SELECT s.session_id, s.program_name, s.host_name
  FROM sys.dm_tran_locks AS l
  JOIN sys.dm_exec_sessions AS s ON s.session_id = l.request_session_id
 WHERE l.resource_type = 'APPLICATION'
   AND l.resource_database_id = DB_ID()
   AND l.request_status = 'GRANT'
   AND CHARINDEX(N'[hotplace]', l.resource_description) > 0
