-- Volumes of each storage group, * where SMS chooses them. Asked only where a storage group is to be made, or was approved.
-- Reads: SYSIBM.SYSVOLUMES. Since: 9. Privilege: SELECT. Cost: one row a volume of a storage group.
SELECT V.SGNAME,
       V.VOLID
  FROM SYSIBM.SYSVOLUMES AS V
  WITH UR
