-- Whether the server works on a statement with a given tag, of whatever session.
-- Reads: sys.dm_exec_requests, sys.dm_exec_sql_text. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER
-- PERFORMANCE STATE); without it only this session is seen. Cost: a row for each running request.
SELECT COUNT(*) AS running
  FROM sys.dm_exec_requests AS r
 CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) AS t
 WHERE r.session_id <> @@SPID
   AND CHARINDEX(CONVERT(nvarchar(200), ?), t.text) = 1
