-- What this session has read from files so far, in pages, and how long it has waited for that, in seconds.
-- Reads: sys.dm_exec_sessions, sys.dm_exec_session_wait_stats. Since: 2016. Privilege: none, of the own session. Cost:
-- under a millisecond.
SELECT s.reads AS blocks,
       COALESCE((SELECT SUM(w.wait_time_ms)
                   FROM sys.dm_exec_session_wait_stats AS w
                  WHERE w.session_id = @@SPID
                    AND w.wait_type IN (N'PAGEIOLATCH_SH', N'PAGEIOLATCH_UP', N'PAGEIOLATCH_EX')), 0) / 1000.0 AS seconds
  FROM sys.dm_exec_sessions AS s
 WHERE s.session_id = @@SPID
