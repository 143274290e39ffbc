-- One table or view by its name, with all that may stand in the way of a move.
-- Reads: sys.objects, sys.schemas, sys.tables, sys.fulltext_indexes, sys.databases. Since: 2012. Privilege: VIEW ANY
-- DEFINITION. Cost: under a millisecond.
SELECT o.object_id,
       o.type AS object_type,
       CONVERT(int, o.is_ms_shipped) AS is_ms_shipped,
       CONVERT(int, t.is_memory_optimized) AS is_memory_optimized, --@12 0
       CONVERT(int, t.temporal_type) AS temporal_type, --@13 0
       CONVERT(int, t.is_external) AS is_external, --@13 0
       CONVERT(int, t.is_remote_data_archive_enabled) AS is_stretched, --@13 0
       CONVERT(int, t.is_filetable) AS is_filetable,
       CONVERT(int, t.is_replicated) AS is_replicated,
       CONVERT(int, t.is_published) AS is_published,
       CONVERT(int, t.is_merge_published) AS is_merge_published,
       t.lob_data_space_id,
       t.filestream_data_space_id,
       (SELECT COUNT(*) FROM sys.fulltext_indexes AS x WHERE x.object_id = o.object_id) AS fulltext_indexes,
       d.recovery_model_desc,
       CONVERT(nvarchar(128), DATABASEPROPERTYEX(d.name, 'Updateability')) AS updateability
  FROM sys.objects AS o
  JOIN sys.schemas AS s ON s.schema_id = o.schema_id
  JOIN sys.databases AS d ON d.database_id = DB_ID()
  LEFT JOIN sys.tables AS t ON t.object_id = o.object_id
 WHERE s.name = CONVERT(nvarchar(128), ?)
   AND o.name = CONVERT(nvarchar(128), ?)
   AND o.type IN ('U', 'V')
