-- Partitions of one object: where each lies, how large, how compressed.
-- Reads: sys.partitions, sys.allocation_units. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: a row for each one.
SELECT p.index_id,
       p.partition_number,
       p.data_compression_desc,
       CONVERT(int, p.xml_compression) AS xml_compression, --@16 0
       a.data_space_id AS row_space_id,
       CONVERT(bigint, COALESCE(a.total_pages, 0) + COALESCE(v.total_pages, 0)) AS row_pages,
       l.data_space_id AS lob_space_id,
       CONVERT(bigint, COALESCE(l.total_pages, 0)) AS lob_pages,
       p.rows AS row_count
  FROM sys.partitions AS p
  LEFT JOIN sys.allocation_units AS a ON a.container_id = p.hobt_id AND a.type = 1
  LEFT JOIN sys.allocation_units AS v ON v.container_id = p.hobt_id AND v.type = 3
  LEFT JOIN sys.allocation_units AS l ON l.container_id = p.partition_id AND l.type = 2
 WHERE p.object_id = CONVERT(int, ?)
 ORDER BY p.index_id, p.partition_number
