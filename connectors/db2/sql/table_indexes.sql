-- Indexes of one table. Reads: SYSCAT.INDEXES. Since: 9.7. Privilege: SELECT. Cost: a few rows.
-- VIEWNAME is set where the key holds an expression.
SELECT I.INDSCHEMA,
       I.INDNAME,
       I.IID,
       I.TBSPACEID,
       I.NLEAF,
       I.UNIQUERULE,
       I.INDEXTYPE,
       I.COMPRESSION,
       I.STATS_TIME,
       I.VIEWNAME, -- since 10.5, VARCHAR(128)
       I.PCTFREE,
       I.REVERSE_SCANS,
       I.MADE_UNIQUE,
       I.ENTRYTYPE,
       I.OWNER,
       I.REMARKS
  FROM SYSCAT.INDEXES AS I
 WHERE I.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND I.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
