-- Statistics of indexes: whether they are recomputed, and how many rows they are of. Others may come with any query.
-- Reads: sys.stats, sys.dm_db_stats_properties. Since: 2012. Privilege: the owner of the table. Cost: some milliseconds.
SELECT CONCAT('statistics ', t.name, '.', x.name) AS what,
       CONCAT(x.no_recompute, ' ', p.rows) AS how
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.indexes AS i ON i.object_id = t.object_id AND i.index_id > 0
  JOIN sys.stats AS x ON x.object_id = i.object_id AND x.stats_id = i.index_id
 OUTER APPLY sys.dm_db_stats_properties(x.object_id, x.stats_id) AS p
