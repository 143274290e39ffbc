-- Where pieces of the local indexes of a table are made; NULL: with the partition of the table.
-- Reads: DBA_INDEXES, DBA_PART_INDEXES. Since: 11.2. Privilege: SELECT on those. Cost: by name, milliseconds.
SELECT I.OWNER, I.INDEX_NAME, D.DEF_TABLESPACE_NAME
  FROM SYS.DBA_INDEXES I
  JOIN SYS.DBA_PART_INDEXES D ON D.OWNER = I.OWNER AND D.INDEX_NAME = I.INDEX_NAME
 WHERE I.TABLE_OWNER = :owner AND I.TABLE_NAME = :name AND D.LOCALITY = 'LOCAL'
 ORDER BY I.OWNER, I.INDEX_NAME
