-- Whether every index can be used and every constraint is trusted.
-- Reads: sys.indexes, sys.foreign_keys, sys.check_constraints. Since: 2012. Privilege: none. Cost: some milliseconds.
SELECT CONCAT('index ', t.name, '.', COALESCE(i.name, '(heap)')) AS what,
       CONCAT(i.is_disabled, ' ', i.is_hypothetical) AS how
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.indexes AS i ON i.object_id = t.object_id
UNION ALL
SELECT CONCAT('constraint ', t.name, '.', k.name), CONCAT(k.is_disabled, ' ', k.is_not_trusted)
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.foreign_keys AS k ON k.parent_object_id = t.object_id
UNION ALL
SELECT CONCAT('constraint ', t.name, '.', k.name), CONCAT(k.is_disabled, ' ', k.is_not_trusted)
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.check_constraints AS k ON k.parent_object_id = t.object_id
