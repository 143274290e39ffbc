-- Commands that read or write more than any user does, now running in this database, or in another one with this one's
-- name in their text: BACKUP and DBCC are often sent from master. Text that cannot be seen counts.
-- Reads: sys.dm_exec_requests, sys.dm_exec_sql_text. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER
-- PERFORMANCE STATE); without it only this session is seen, and nothing is reported. Cost: a row for each running request.
SELECT r.command
  FROM sys.dm_exec_requests AS r
 OUTER APPLY sys.dm_exec_sql_text(r.sql_handle) AS t
 WHERE r.session_id <> @@SPID
   AND (r.command LIKE 'BACKUP%' OR r.command LIKE 'RESTORE%' OR r.command LIKE 'DBCC%' OR r.command LIKE 'UPDATE STATIST%'
        OR r.command LIKE 'CREATE INDEX%' OR r.command LIKE 'ALTER INDEX%')
   AND (r.database_id = DB_ID()
        OR ((r.command LIKE 'BACKUP%' OR r.command LIKE 'DBCC%')
            AND (t.text IS NULL OR CHARINDEX(DB_NAME(), t.text) > 0)))
