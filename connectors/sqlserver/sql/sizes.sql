-- Reserved pages of one object's partitions, by kind.
-- Reads: sys.dm_db_partition_stats. Since: 2012. Privilege: VIEW DATABASE STATE (2022: VIEW DATABASE PERFORMANCE
-- STATE). Cost: a row for each partition of the object.
SELECT s.object_id,
       s.index_id,
       s.partition_number,
       s.in_row_reserved_page_count + s.row_overflow_reserved_page_count AS row_pages,
       s.lob_reserved_page_count AS lob_pages
  FROM sys.dm_db_partition_stats AS s
 WHERE s.object_id = CONVERT(int, ?)
