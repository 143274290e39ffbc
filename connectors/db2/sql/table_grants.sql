-- Who may do what with one table; Y may, G may pass it on too, N may not. A row each for whoever granted it.
-- Reads: SYSCAT.TABAUTH. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT A.GRANTEE,
       A.GRANTEETYPE,
       A.CONTROLAUTH,
       A.ALTERAUTH,
       A.DELETEAUTH,
       A.INDEXAUTH,
       A.INSERTAUTH,
       A.REFAUTH,
       A.SELECTAUTH,
       A.UPDATEAUTH
  FROM SYSCAT.TABAUTH AS A
 WHERE A.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND A.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
