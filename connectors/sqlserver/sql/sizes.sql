-- Reserved pages of one object's partitions. A columnstore keeps its segments as large objects, which are its rows.
-- Reads: sys.dm_db_partition_stats, sys.indexes. Since: 2012. Privilege: VIEW DATABASE STATE (2022: VIEW DATABASE
-- PERFORMANCE STATE) and VIEW DEFINITION. Cost: a row for each partition of the object.
SELECT s.object_id,
       s.index_id,
       s.partition_number,
       s.in_row_reserved_page_count + s.row_overflow_reserved_page_count
         + CASE WHEN i.type IN (5, 6) THEN s.lob_reserved_page_count ELSE 0 END AS row_pages,
       s.lob_reserved_page_count AS lob_pages
  FROM sys.dm_db_partition_stats AS s
  JOIN sys.indexes AS i ON i.object_id = s.object_id AND i.index_id = s.index_id
 WHERE s.object_id = CONVERT(int, ?)
