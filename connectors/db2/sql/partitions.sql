-- Data partitions. A table that is not partitioned has one row here too. STATUS is empty for one that is at rest.
-- Reads: SYSCAT.DATAPARTITIONS. Since: 9.7. Privilege: SELECT. Cost: one row each.
SELECT P.TABSCHEMA,
       P.TABNAME,
       P.DATAPARTITIONID,
       P.DATAPARTITIONNAME,
       P.TBSPACEID,
       P.LONG_TBSPACEID,
       P.STATUS,
       P.FPAGES
  FROM SYSCAT.DATAPARTITIONS AS P
 WHERE P.TABSCHEMA NOT LIKE 'SYS%'
  WITH UR
