-- Data partitions of one table; one that is not partitioned has one row. Reads: SYSCAT.DATAPARTITIONS. Since: 9.7.
-- Privilege: SELECT. Cost: a few rows.
SELECT P.DATAPARTITIONID,
       P.DATAPARTITIONNAME,
       P.TBSPACEID,
       P.LONG_TBSPACEID,
       P.STATUS
  FROM SYSCAT.DATAPARTITIONS AS P
 WHERE P.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND P.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
