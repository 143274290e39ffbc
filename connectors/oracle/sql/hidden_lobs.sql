-- LOBs of object and XML columns of a table, which MOVE cannot name: where they are, and how many bytes.
-- Reads: DBA_LOBS, DBA_SEGMENTS. Since: 11.2. Privilege: SELECT on those. Cost: by name, milliseconds.
SELECT S.TABLESPACE_NAME, SUM(S.BYTES) AS BYTES
  FROM SYS.DBA_LOBS L
  JOIN SYS.DBA_SEGMENTS S ON S.OWNER = L.OWNER AND S.SEGMENT_NAME = L.SEGMENT_NAME
 WHERE L.OWNER = :owner AND L.TABLE_NAME = :name AND (L.COLUMN_NAME LIKE 'SYS_NC%' OR L.COLUMN_NAME LIKE '"%')
 GROUP BY S.TABLESPACE_NAME
 ORDER BY S.TABLESPACE_NAME
