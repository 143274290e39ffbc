-- Other user sessions: whether each is in this database, who it is (one login under one program is one kind), whether a
-- request runs, whether that waits for a page to come from storage, how many transactions are open, and milliseconds
-- since its last request began (a day at most) and since the one before ended (a minute at most).
-- Reads: sys.dm_exec_sessions, sys.dm_exec_requests. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER
-- PERFORMANCE STATE); without it only this session is seen. Cost: a row for each session.
SELECT s.session_id AS session_id,
       MAX(CASE WHEN s.database_id = DB_ID() THEN 1 ELSE 0 END) AS here,
       MAX(s.login_name) AS login_name,
       MAX(s.program_name) AS program_name,
       MAX(CASE WHEN s.status = N'running' THEN 1 ELSE 0 END) AS is_running,
       MAX(CASE WHEN r.wait_type LIKE N'PAGEIOLATCH%' THEN 1 ELSE 0 END) AS is_reading,
       MAX(s.open_transaction_count) AS open_transactions,
       -- Milliseconds of more than 24 days are no int: error 535.
       MAX(CASE WHEN s.last_request_start_time > DATEADD(second, -86400, GETDATE())
                THEN DATEDIFF(millisecond, s.last_request_start_time, GETDATE())
                ELSE 86400000 END) AS began_ms,
       MAX(CASE WHEN s.last_request_end_time > DATEADD(second, -60, GETDATE())
                THEN DATEDIFF(millisecond, s.last_request_end_time, GETDATE())
                ELSE 60000 END) AS ended_ms
  FROM sys.dm_exec_sessions AS s
  LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
 WHERE s.is_user_process = 1
   AND s.session_id <> @@SPID
 GROUP BY s.session_id
