-- Who holds the lease. The description of an application lock begins with the user in whose name it was taken, by number, and
-- the first characters of its name.
-- Reads: sys.dm_tran_locks, sys.dm_exec_sessions. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER
-- PERFORMANCE STATE). Cost: a row for each lock.
SELECT s.session_id, s.program_name, s.host_name, s.login_name
  FROM sys.dm_tran_locks AS l
  JOIN sys.dm_exec_sessions AS s ON s.session_id = l.request_session_id
 WHERE l.resource_type = 'APPLICATION'
   AND l.resource_database_id = DB_ID()
   AND l.request_status = 'GRANT'
   AND CHARINDEX(CONCAT(COALESCE(DATABASE_PRINCIPAL_ID(USER_NAME()), 0), N':[hotplace]'), l.resource_description) = 1
