-- Every heap and index partition with its pages by kind and where each kind lies; the allocation unit is the truth,
-- not the index. Page counts are cached by the server and lag after a drop or rebuild of more than 128 extents.
-- Reads: sys.partitions, sys.indexes, sys.objects, sys.schemas, sys.data_spaces, sys.allocation_units. Since: 2012.
-- Privilege: VIEW ANY DEFINITION. Cost: one pass over the catalog.
SELECT p.object_id,
       p.index_id,
       p.partition_number,
       s.name AS schema_name,
       o.name AS object_name,
       o.type AS object_type,
       i.name AS index_name,
       CONVERT(int, i.type) AS index_type,
       d.type AS data_space_type,
       a.data_space_id AS row_space_id,
       CONVERT(bigint, COALESCE(a.total_pages, 0) + COALESCE(v.total_pages, 0)) AS row_pages,
       l.data_space_id AS lob_space_id,
       CONVERT(bigint, COALESCE(l.total_pages, 0)) AS lob_pages,
       p.rows AS row_count,
       i.data_space_id AS home_space_id
  FROM sys.partitions AS p
  JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = p.index_id
  JOIN sys.objects AS o ON o.object_id = p.object_id
  JOIN sys.schemas AS s ON s.schema_id = o.schema_id
  JOIN sys.data_spaces AS d ON d.data_space_id = i.data_space_id
-- container_id is the hobt_id for rows (1) and row overflow (3), but the partition_id for large objects (2).
  LEFT JOIN sys.allocation_units AS a ON a.container_id = p.hobt_id AND a.type = 1
  LEFT JOIN sys.allocation_units AS v ON v.container_id = p.hobt_id AND v.type = 3
  LEFT JOIN sys.allocation_units AS l ON l.container_id = p.partition_id AND l.type = 2
 WHERE o.is_ms_shipped = 0
   AND o.type IN ('U', 'V')
   AND i.type IN (0, 1, 2, 5, 6)
   AND i.is_hypothetical = 0
   AND d.type IN ('FG', 'PS')
