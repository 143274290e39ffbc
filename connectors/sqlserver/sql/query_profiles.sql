-- What running queries read from disk now, by heap or index: the ten with the most reads, over all operators and threads,
-- with the rows they have come to and those the optimizer reckoned with. Only asked when somebody wants it.
-- Reads: sys.dm_exec_query_profiles, sys.objects, sys.schemas, sys.indexes. Since: 2014; before 2019 only queries that are
-- profiled are seen. Privilege: VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE STATE); names need VIEW DEFINITION.
-- Cost: a row for each operator and thread of each running query.
SELECT TOP (10)
       p.object_id,
       p.index_id,
       MAX(s.name) AS schema_name,
       MAX(o.name) AS table_name,
       MAX(i.name) AS index_name,
       SUM(ISNULL(p.physical_read_count, 0) + ISNULL(p.lob_physical_read_count, 0)) AS reads,
       SUM(ISNULL(p.read_ahead_count, 0) + ISNULL(p.lob_read_ahead_count, 0)) AS read_aheads,
       SUM(ISNULL(p.row_count, 0)) AS row_count,
       SUM(ISNULL(p.estimate_row_count, 0)) AS estimate_row_count,
       COUNT(DISTINCT p.session_id) AS session_count
  FROM sys.dm_exec_query_profiles AS p
  LEFT JOIN sys.objects AS o ON o.object_id = p.object_id
  LEFT JOIN sys.schemas AS s ON s.schema_id = o.schema_id
  LEFT JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = p.index_id
 WHERE p.database_id = DB_ID()
   AND p.object_id > 0
   AND p.session_id <> @@SPID
 GROUP BY p.object_id, p.index_id
HAVING SUM(ISNULL(p.physical_read_count, 0) + ISNULL(p.lob_physical_read_count, 0)
           + ISNULL(p.read_ahead_count, 0) + ISNULL(p.lob_read_ahead_count, 0)) > 0
 ORDER BY SUM(ISNULL(p.physical_read_count, 0) + ISNULL(p.lob_physical_read_count, 0)
              + ISNULL(p.read_ahead_count, 0) + ISNULL(p.lob_read_ahead_count, 0)) DESC
