-- Triggers on one table; VALID is Y, N (made valid at its next use) or X (to be made anew by hand).
-- Reads: SYSCAT.TRIGGERS. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT G.TRIGSCHEMA,
       G.TRIGNAME,
       G.VALID,
       G.OWNER,
       G.TRIGTIME,
       G.TRIGEVENT,
       G.EVENTUPDATE, -- since 10.5, VARCHAR(1)
       G.EVENTDELETE, -- since 10.5, VARCHAR(1)
       G.EVENTINSERT, -- since 10.5, VARCHAR(1)
       G.GRANULARITY,
       G.QUALIFIER,
       G.FUNC_PATH,
       G.COLLATIONSCHEMA, -- since 9.7, VARCHAR(128)
       G.COLLATIONNAME, -- since 9.7, VARCHAR(128)
       G.TEXT,
       G.REMARKS
  FROM SYSCAT.TRIGGERS AS G
 WHERE G.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND G.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
