-- Indexes that somebody made. Those that the server makes for itself (of blocks, of the page map, of XML) are a part of their
-- table: ADMIN_MOVE_TABLE makes them again under other names.
-- Reads: SYSCAT.INDEXES. Since: 9.7. Privilege: SELECT. Cost: one row each.
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
   AND I.INDEXTYPE NOT IN ('BLOK', 'DIM', 'CPMA', 'MDST', 'XPTH', 'XRGN', 'XVIP')
  WITH UR
