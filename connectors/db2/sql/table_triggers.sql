-- Triggers on one table; VALID is Y, N (made valid at its next use) or X (to be made anew by hand).
-- Reads: SYSCAT.TRIGGERS. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT G.TRIGSCHEMA,
       G.TRIGNAME,
       G.VALID
  FROM SYSCAT.TRIGGERS AS G
 WHERE G.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND G.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
