-- The temporal table whose history one table holds; its own TEMPORALTYPE says nothing of that.
-- Reads: SYSCAT.PERIODS. Since: 10.1. Privilege: SELECT. Cost: no row, as a rule.
SELECT P.TABSCHEMA,
       P.TABNAME
  FROM SYSCAT.PERIODS AS P
 WHERE P.HISTORYTABSCHEMA = CAST(? AS VARCHAR(128))
   AND P.HISTORYTABNAME = CAST(? AS VARCHAR(128))
  WITH UR
