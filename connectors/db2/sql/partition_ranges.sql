-- Data partitions of one table with their bounds, as string representations of SQL values. STATUS is empty at rest.
-- Reads: SYSCAT.DATAPARTITIONS. Since: 9.7. Privilege: SELECT. Cost: a row each.
SELECT P.DATAPARTITIONNAME,
       P.TBSPACEID,
       P.STATUS,
       P.SEQNO,
       P.LOWINCLUSIVE,
       P.LOWVALUE,
       P.HIGHINCLUSIVE,
       P.HIGHVALUE
  FROM SYSCAT.DATAPARTITIONS AS P
 WHERE P.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND P.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
