-- Database authorities granted to one user directly; those of groups and roles are not seen here.
-- Reads: SYSCAT.DBAUTH. Since: 9.7. Privilege: SELECT. Cost: one row.
SELECT A.DBADMAUTH,
       A.SQLADMAUTH
  FROM SYSCAT.DBAUTH AS A
 WHERE A.GRANTEE = CAST(? AS VARCHAR(128))
   AND A.GRANTEETYPE = 'U'
  WITH UR
