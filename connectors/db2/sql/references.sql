-- Tables that refer to this one by foreign keys, and those it refers to.
-- Reads: SYSCAT.REFERENCES. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT R.TABSCHEMA,
       R.TABNAME,
       R.REFTABSCHEMA,
       R.REFTABNAME,
       R.CONSTNAME
  FROM SYSCAT.REFERENCES AS R
 WHERE (R.TABSCHEMA = CAST(? AS VARCHAR(128)) AND R.TABNAME = CAST(? AS VARCHAR(128)))
    OR (R.REFTABSCHEMA = CAST(? AS VARCHAR(128)) AND R.REFTABNAME = CAST(? AS VARCHAR(128)))
  WITH UR
