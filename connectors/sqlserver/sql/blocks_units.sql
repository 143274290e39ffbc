-- The allocation units of one heap, index or partition of one, with their kinds and how many pages each has.
-- Reads: sys.partitions, sys.indexes, sys.allocation_units. Since: 2012. Privilege: VIEW DEFINITION of the table.
-- Cost: a look-up in the catalog.
SELECT p.index_id,
       CONVERT(int, i.type) AS index_type,
       a.allocation_unit_id,
       CONVERT(int, a.type) AS unit_type,
       a.total_pages
  FROM sys.partitions AS p
  JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = p.index_id
-- container_id is the hobt_id for rows (1) and row overflow (3), but the partition_id for large objects (2).
  JOIN sys.allocation_units AS a ON a.container_id = CASE WHEN a.type = 2 THEN p.partition_id ELSE p.hobt_id END
 WHERE p.object_id = CONVERT(int, ?)
   AND CASE WHEN p.index_id = 0 THEN 1 ELSE p.index_id END = CONVERT(int, ?)
   AND p.partition_number = CONVERT(int, ?)
   AND a.type IN (1, 2, 3)
