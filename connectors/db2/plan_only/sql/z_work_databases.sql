-- Databases of work files and temporary tables: DSNDB07, and those of each member of a data sharing group, whatever their name.
-- What lies in them is not planned for.
-- Reads: SYSIBM.SYSDATABASE. Since: 9. Privilege: SELECT. Cost: one row a database.
SELECT W.NAME
  FROM SYSIBM.SYSDATABASE AS W
 WHERE W.TYPE IN ('W', 'T')
  WITH UR
