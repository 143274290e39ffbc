-- Resumable index builds of this database that are paused, and after how many minutes the server gives one up (NULL:
-- this version does not; 0: never).
-- Reads: sys.index_resumable_operations, sys.objects, sys.schemas, sys.database_scoped_configurations. Since: 2017.
-- Privilege: VIEW ANY DEFINITION. Cost: under a millisecond.
SELECT s.name AS schema_name,
       o.name AS object_name,
       r.name AS index_name,
       r.last_pause_time,
       (SELECT MAX(TRY_CONVERT(int, c.value)) FROM sys.database_scoped_configurations AS c
         WHERE c.name = 'PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES') AS abort_minutes
  FROM sys.index_resumable_operations AS r
  JOIN sys.objects AS o ON o.object_id = r.object_id
  JOIN sys.schemas AS s ON s.schema_id = o.schema_id
 WHERE r.state = 1
