-- Heap and indexes of one object with every property that CREATE INDEX would otherwise reset to its default.
-- filter_definition is NULL for whoever may not see it, so has_filter is what counts.
-- Reads: sys.indexes, sys.stats. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: under a millisecond.
SELECT i.index_id,
       i.name AS index_name,
       CONVERT(int, i.type) AS index_type,
       CONVERT(int, i.is_unique) AS is_unique,
       i.data_space_id,
       CONVERT(int, i.ignore_dup_key) AS ignore_dup_key,
       CONVERT(int, i.is_primary_key) AS is_primary_key,
       CONVERT(int, i.is_unique_constraint) AS is_unique_constraint,
       CONVERT(int, i.fill_factor) AS fill_factor,
       CONVERT(int, i.is_padded) AS is_padded,
       CONVERT(int, i.is_disabled) AS is_disabled,
       CONVERT(int, i.allow_row_locks) AS allow_row_locks,
       CONVERT(int, i.allow_page_locks) AS allow_page_locks,
       CONVERT(int, i.has_filter) AS has_filter,
       i.filter_definition,
       i.compression_delay AS compression_delay, --@13 NULL
       CONVERT(int, i.suppress_dup_key_messages) AS suppress_dup_key_messages, --@14 0
       CONVERT(int, i.optimize_for_sequential_key) AS optimize_for_sequential_key, --@15 0
       CONVERT(int, t.no_recompute) AS no_recompute,
       CONVERT(int, t.is_incremental) AS is_incremental --@12 0
  FROM sys.indexes AS i
  LEFT JOIN sys.stats AS t ON t.object_id = i.object_id AND t.stats_id = i.index_id
 WHERE i.object_id = CONVERT(int, ?)
   AND i.is_hypothetical = 0
 ORDER BY i.index_id
