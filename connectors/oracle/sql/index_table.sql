-- The table of an index.
-- Reads: DBA_INDEXES. Since: 11.2. Privilege: SELECT on it. Cost: by name, milliseconds.
SELECT I.TABLE_OWNER, I.TABLE_NAME, I.INDEX_TYPE
  FROM SYS.DBA_INDEXES I
 WHERE I.OWNER = :owner AND I.INDEX_NAME = :name
