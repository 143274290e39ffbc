-- The host of each member; asked where there are several. Reads: DB_MEMBERS. Since: 10.1.
-- Privilege: EXECUTE on it, which PUBLIC has unless the database is RESTRICTIVE. Cost: one row a member.
SELECT H.MEMBER_NUMBER,
       H.HOST_NAME
  FROM TABLE(SYSPROC.DB_MEMBERS()) AS H
 WHERE H.MEMBER_TYPE = 'D'
  WITH UR
