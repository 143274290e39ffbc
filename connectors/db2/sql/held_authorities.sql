-- Authorities of this login, of the database and the instance, also through groups and roles.
-- Reads: AUTH_LIST_AUTHORITIES_FOR_AUTHID. Since: 9.7. Privilege: EXECUTE on it, which PUBLIC has unless the database is
-- RESTRICTIVE. Cost: a row an authority.
SELECT A.AUTHORITY
  FROM TABLE(SYSPROC.AUTH_LIST_AUTHORITIES_FOR_AUTHID(SESSION_USER, 'U')) AS A
 WHERE A.D_USER = 'Y' OR A.D_GROUP = 'Y' OR A.D_PUBLIC = 'Y' OR A.ROLE_USER = 'Y' OR A.ROLE_GROUP = 'Y'
    OR A.ROLE_PUBLIC = 'Y'
  WITH UR
