-- The server's clock in UTC, to tell how far apart two exports are.
-- Reads: SYSCAT.TABLESPACES (SYSCATSPACE is number 0, for one row). Since: 9.7. Privilege: SELECT. Cost: one row.
SELECT VARCHAR_FORMAT(CURRENT TIMESTAMP - CURRENT TIMEZONE, 'YYYY-MM-DD HH24:MI:SS') AS TAKEN_AT
  FROM SYSCAT.TABLESPACES AS S
 WHERE S.TBSPACEID = 0
  WITH UR
