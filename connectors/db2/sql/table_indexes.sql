-- Indexes of one table. Reads: SYSCAT.INDEXES. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT I.INDSCHEMA,
       I.INDNAME,
       I.IID,
       I.TBSPACEID,
       I.NLEAF,
       I.UNIQUERULE
  FROM SYSCAT.INDEXES AS I
 WHERE I.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND I.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
