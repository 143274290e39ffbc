-- Commands that read or write more than any user does, now running in this database.
-- Reads: sys.dm_exec_requests. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE STATE);
-- without it only this session is seen, and nothing is reported. Cost: a row for each running request.
SELECT r.command
  FROM sys.dm_exec_requests AS r
 WHERE r.database_id = DB_ID()
   AND r.session_id <> @@SPID
   AND (r.command LIKE 'BACKUP%' OR r.command LIKE 'RESTORE%' OR r.command LIKE 'DBCC%'
        OR r.command LIKE 'CREATE INDEX%' OR r.command LIKE 'ALTER INDEX%')
