-- Indexes. Reads: SYSCAT.INDEXES. Since: 9.7. Privilege: SELECT. Cost: one row each.
SELECT I.INDSCHEMA,
       I.INDNAME,
       I.TABSCHEMA,
       I.TABNAME,
       I.IID,
       I.TBSPACEID,
       I.NLEAF,
       I.UNIQUERULE
  FROM SYSCAT.INDEXES AS I
 WHERE I.TABSCHEMA NOT LIKE 'SYS%'
  WITH UR
