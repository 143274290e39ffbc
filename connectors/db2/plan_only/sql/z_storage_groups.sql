-- Every storage group, also those in which nothing lies yet, or any more.
-- Reads: SYSIBM.SYSSTOGROUP. Since: 9. Privilege: SELECT. Cost: one row a storage group.
SELECT G.NAME
  FROM SYSIBM.SYSSTOGROUP AS G
  WITH UR
