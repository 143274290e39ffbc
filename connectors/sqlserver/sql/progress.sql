-- How far a session is: pages used in the target filegroup (a build allocates them before it commits), and what it
-- waits for. percent_complete stays 0 for index builds.
-- Reads: sys.dm_db_file_space_usage, sys.filegroups, sys.dm_exec_requests. Since: 2012. Privilege: VIEW SERVER STATE
-- (2022: VIEW SERVER PERFORMANCE STATE). Cost: a row for each file and each running request.
SELECT (SELECT SUM(u.total_page_count - u.unallocated_extent_page_count)
          FROM sys.dm_db_file_space_usage AS u
          JOIN sys.filegroups AS g ON g.data_space_id = u.filegroup_id
         WHERE g.name = CONVERT(nvarchar(128), ?) AND u.database_id = DB_ID()) AS used_pages,
       (SELECT MAX(r.wait_type) FROM sys.dm_exec_requests AS r WHERE r.session_id = CONVERT(int, ?)) AS wait_type
