-- Keys and checks of one table, foreign keys aside, with every attribute that a copy of the table has to have, too.
-- Reads: SYSCAT.TABCONST. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT K.CONSTNAME,
       K.TYPE,
       K.OWNER,
       K.ENFORCED,
       K.CHECKEXISTINGDATA,
       K.ENABLEQUERYOPT,
       K.TRUSTED, -- since 10.5, VARCHAR(1)
       K.PERIODNAME, -- since 10.1, VARCHAR(128)
       K.PERIODPOLICY, -- since 10.1, VARCHAR(1)
       K.REMARKS
  FROM SYSCAT.TABCONST AS K
 WHERE K.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND K.TABNAME = CAST(? AS VARCHAR(128))
   AND K.TYPE <> 'F'
  WITH UR
