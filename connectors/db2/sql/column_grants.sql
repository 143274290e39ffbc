-- Who may do what with single columns of one table. PRIVTYPE is U (update) or R (refer to it); GRANTABLE is G where it may
-- be passed on, else N. A row each for whoever granted it.
-- Reads: SYSCAT.COLAUTH. Since: 9.7. Privilege: SELECT. Cost: no row, as a rule.
SELECT A.GRANTEE,
       A.GRANTEETYPE,
       A.COLNAME,
       A.PRIVTYPE,
       A.GRANTABLE
  FROM SYSCAT.COLAUTH AS A
 WHERE A.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND A.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
