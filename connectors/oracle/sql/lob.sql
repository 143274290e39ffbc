-- Table, column and kind of a LOB by the name of its segment.
-- Reads: DBA_LOBS. Since: 11.2. Privilege: SELECT on it. Cost: by name, milliseconds.
SELECT L.OWNER, L.TABLE_NAME, L.COLUMN_NAME, L.SECUREFILE
  FROM SYS.DBA_LOBS L
 WHERE L.OWNER = :owner AND L.SEGMENT_NAME = :name
