-- Table and space of one index. Reads: SYSCAT.INDEXES. Since: 9.7. Privilege: SELECT. Cost: one row.
SELECT I.TABSCHEMA,
       I.TABNAME,
       I.IID,
       I.TBSPACEID
  FROM SYSCAT.INDEXES AS I
 WHERE I.INDSCHEMA = CAST(? AS VARCHAR(128))
   AND I.INDNAME = CAST(? AS VARCHAR(128))
  WITH UR
