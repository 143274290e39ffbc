-- Caching facilities: any at all means pureScale. Reads: SYSIBMADM.DB2_CF. Since: 9.8. Privilege: SELECT. Cost: one row.
SELECT COUNT(*)
  FROM SYSIBMADM.DB2_CF AS F
  WITH UR
