-- What every table of the scratch schema is, but where it lies: columns, indexes with their columns and options, what hangs
-- on it (keys, constraints, triggers), compression of partitions, extended properties, what is NEXT USED. Fill factors of 0
-- and 100 are the same.
-- Reads: sys.tables, sys.columns, sys.types, sys.indexes, sys.index_columns, sys.partitions, sys.objects,
-- sys.extended_properties, sys.partition_schemes, sys.destination_data_spaces. Since: 2012. Privilege: none.
-- Cost: some milliseconds.
SELECT CONCAT('column ', t.name, '.', c.name) AS what,
       CONCAT(c.column_id, ' ', y.name, ' ', c.max_length, ' ', c.[precision], ' ', c.scale, ' ', c.collation_name, ' ',
              c.is_nullable, ' ', c.is_identity, ' ', c.is_computed, ' ', c.is_sparse) AS how
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.columns AS c ON c.object_id = t.object_id
  JOIN sys.types AS y ON y.user_type_id = c.user_type_id
UNION ALL
SELECT CONCAT('index ', t.name, '.', COALESCE(i.name, '(heap)')),
       CONCAT(i.type_desc, ' ', i.is_unique, ' ', i.ignore_dup_key, ' ', i.is_primary_key, ' ', i.is_unique_constraint, ' ',
              CASE i.fill_factor WHEN 0 THEN 100 ELSE i.fill_factor END, ' ', i.is_padded, ' ', i.allow_row_locks, ' ', i.allow_page_locks, ' ', i.filter_definition)
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.indexes AS i ON i.object_id = t.object_id
UNION ALL
SELECT CONCAT('column ', c.name, ' of index ', t.name, '.', i.name),
       CONCAT(k.key_ordinal, ' ', k.is_descending_key, ' ', k.is_included_column, ' ', k.partition_ordinal)
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.indexes AS i ON i.object_id = t.object_id AND i.index_id > 0
  JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id
  JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
UNION ALL
SELECT CONCAT('partition ', p.partition_number, ' of ', t.name, '.', COALESCE(i.name, '(heap)')),
       CONCAT(p.data_compression_desc, ' ', p.rows)
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.indexes AS i ON i.object_id = t.object_id
  JOIN sys.partitions AS p ON p.object_id = i.object_id AND p.index_id = i.index_id
UNION ALL
SELECT CONCAT('object ', t.name, '.', o.name), CONCAT(o.type, ' ')
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.objects AS o ON o.parent_object_id = t.object_id
UNION ALL
SELECT CONCAT('property ', e.name, ' of ', t.name, '.', COALESCE(i.name, '')), CONVERT(nvarchar(4000), e.value)
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.extended_properties AS e ON e.major_id = t.object_id AND e.class IN (1, 7)
  LEFT JOIN sys.indexes AS i ON e.class = 7 AND i.object_id = e.major_id AND i.index_id = e.minor_id
UNION ALL
SELECT CONCAT('next used of ', t.name, '.', COALESCE(i.name, '(heap)')), g.name
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.indexes AS i ON i.object_id = t.object_id
  JOIN sys.partition_schemes AS p ON p.data_space_id = i.data_space_id
  JOIN sys.partition_functions AS f ON f.function_id = p.function_id
  JOIN sys.destination_data_spaces AS d ON d.partition_scheme_id = p.data_space_id AND d.destination_id = f.fanout + 1
  JOIN sys.data_spaces AS g ON g.data_space_id = d.data_space_id
