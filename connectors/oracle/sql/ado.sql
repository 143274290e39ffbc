-- Policies that let the database move or compress this table by itself (Automatic Data Optimization).
-- Only asked where the configuration says that Advanced Compression is licensed.
-- Reads: DBA_ILMOBJECTS. Since: 12.1. Privilege: SELECT on it. Cost: milliseconds.
SELECT COUNT(*)
  FROM SYS.DBA_ILMOBJECTS I
 WHERE I.OBJECT_OWNER = :owner AND I.OBJECT_NAME = :name AND I.ENABLED = 'YES'
