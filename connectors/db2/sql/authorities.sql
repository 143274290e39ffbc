-- Database authorities granted to one user directly, or to PUBLIC; those of groups and roles are not seen here.
-- Reads: SYSCAT.DBAUTH. Since: 9.7. Privilege: SELECT. Cost: two rows.
SELECT A.DBADMAUTH,
       A.SQLADMAUTH,
       A.CREATETABAUTH
  FROM SYSCAT.DBAUTH AS A
 WHERE (A.GRANTEE = CAST(? AS VARCHAR(128)) AND A.GRANTEETYPE = 'U')
    OR A.GRANTEE = 'PUBLIC'
  WITH UR
