-- Storage groups with what a DBA typed in about their disks. Reads: SYSCAT.STOGROUPS. Since: 10.1. Privilege: SELECT.
-- Cost: one row each.
SELECT G.SGID,
       G.SGNAME,
       G.DEFAULTSG,
       G.OVERHEAD,
       G.DEVICEREADRATE,
       G.DATATAG
  FROM SYSCAT.STOGROUPS AS G
  WITH UR
