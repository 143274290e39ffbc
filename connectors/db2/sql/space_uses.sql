-- Table spaces that one user, or PUBLIC, may make tables in; rights of groups and roles are not seen here.
-- Reads: SYSCAT.TBSPACEAUTH. Since: 9.7. Privilege: SELECT. Cost: a row a grant.
SELECT DISTINCT U.TBSPACE
  FROM SYSCAT.TBSPACEAUTH AS U
 WHERE ((U.GRANTEE = CAST(? AS VARCHAR(128)) AND U.GRANTEETYPE = 'U') OR U.GRANTEE = 'PUBLIC')
   AND U.USEAUTH IN ('Y', 'G')
  WITH UR
