-- Catalog of the data sets and SMS storage class of each storage group, asked as z_volumes.
-- Reads: SYSIBM.SYSSTOGROUP. Since: 9. Privilege: SELECT. Cost: one row a storage group.
SELECT G.NAME,
       G.VCATNAME,
       G.STORCLAS -- since 9.1, VARCHAR(24)
  FROM SYSIBM.SYSSTOGROUP AS G
  WITH UR
