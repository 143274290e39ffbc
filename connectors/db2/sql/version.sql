-- Version of the server, packed VVRRMMFF: 12010400 is 12.1.4. The table has a row for each version the database has seen.
-- Reads: SYSIBM.SYSVERSIONS. Since: 9.7. Privilege: SELECT. Cost: a handful of rows.
SELECT MAX(V.VERSIONNUMBER)
  FROM SYSIBM.SYSVERSIONS AS V
  WITH UR
