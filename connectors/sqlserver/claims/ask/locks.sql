-- Locks that the moving session has or waits for on tables of the scratch schema: the table's key, the mode as
-- sys.dm_tran_locks writes it, its rank (a stronger one is greater), whether it is granted.
-- Reads: sys.dm_tran_locks, sys.dm_exec_sessions, sys.tables, sys.schemas. Since: 2012. Privilege: VIEW SERVER STATE
-- (2022: VIEW SERVER PERFORMANCE STATE). Cost: a row for each lock held.
SELECT CONCAT(QUOTENAME(s.name), '.', QUOTENAME(t.name)) AS relation,
       l.request_mode AS mode,
       CASE l.request_mode WHEN 'Sch-S' THEN 1 WHEN 'IS' THEN 2 WHEN 'IX' THEN 3 WHEN 'S' THEN 4 WHEN 'U' THEN 5
                           WHEN 'SIX' THEN 6 WHEN 'X' THEN 7 WHEN 'Sch-M' THEN 8 ELSE 0 END AS strength,
       CASE l.request_status WHEN 'GRANT' THEN 1 ELSE 0 END AS granted
  FROM sys.dm_tran_locks AS l
  JOIN sys.dm_exec_sessions AS e ON e.session_id = l.request_session_id AND e.program_name = N'hotplace move'
  JOIN sys.tables AS t ON t.object_id = l.resource_associated_entity_id
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
 WHERE l.resource_type = 'OBJECT'
   AND l.resource_database_id = DB_ID()
