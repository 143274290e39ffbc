-- Columns of one object: which may be a key, which hold large objects. A type of the CLR has no base type to name.
-- Reads: sys.columns, sys.types. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: under a millisecond.
SELECT c.name AS column_name,
       COALESCE(t.name, 'clr') AS type_name,
       CONVERT(int, c.max_length) AS max_length,
       CONVERT(int, c.[precision]) AS precision_digits,
       CONVERT(int, c.scale) AS scale_digits,
       c.collation_name,
       CONVERT(int, c.is_nullable) AS is_nullable,
       CONVERT(int, c.is_computed) AS is_computed
  FROM sys.columns AS c
  LEFT JOIN sys.types AS t ON t.user_type_id = c.system_type_id
 WHERE c.object_id = CONVERT(int, ?)
 ORDER BY c.column_id
