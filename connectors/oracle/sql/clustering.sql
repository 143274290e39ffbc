-- Whether a table sorts its rows by attribute clustering, which a MOVE does again unless it is told not to.
-- Reads: DBA_TABLES. Since: 12.1. Privilege: SELECT on it. Cost: by name, milliseconds.
SELECT T.CLUSTERING
  FROM SYS.DBA_TABLES T
 WHERE T.OWNER = :owner AND T.TABLE_NAME = :name
