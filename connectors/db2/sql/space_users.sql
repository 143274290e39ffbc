-- Grants of one table space that may let this login make tables in it: its own, those of PUBLIC, and those of every group and
-- role, as it is not seen which of them it is in.
-- Reads: SYSCAT.TBSPACEAUTH. Since: 9.7. Privilege: SELECT. Cost: a row a grant.
SELECT U.GRANTEE
  FROM SYSCAT.TBSPACEAUTH AS U
 WHERE U.TBSPACE = CAST(? AS VARCHAR(128))
   AND U.USEAUTH IN ('Y', 'G')
   AND (U.GRANTEETYPE <> 'U' OR U.GRANTEE = SESSION_USER)
  WITH UR
