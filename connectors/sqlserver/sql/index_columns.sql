-- Columns of the indexes of one object.
-- Reads: sys.index_columns, sys.columns. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: under a millisecond.
SELECT c.index_id,
       n.name AS column_name,
       CONVERT(int, c.key_ordinal) AS key_ordinal,
       CONVERT(int, c.partition_ordinal) AS partition_ordinal,
       CONVERT(int, c.is_descending_key) AS is_descending_key,
       CONVERT(int, c.is_included_column) AS is_included_column,
       CONVERT(int, c.column_store_order_ordinal) AS column_store_order_ordinal --@16 0
  FROM sys.index_columns AS c
  JOIN sys.columns AS n ON n.object_id = c.object_id AND n.column_id = c.column_id
 WHERE c.object_id = CONVERT(int, ?)
 ORDER BY c.index_id, c.index_column_id
