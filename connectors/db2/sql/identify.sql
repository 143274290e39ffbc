-- Name of the database and when it was made: together they tell it from any other, on an HADR standby too.
-- Reads: SYSCAT.TABLESPACES (SYSCATSPACE is number 0), CURRENT SERVER. Since: 9.7. Privilege: SELECT. Cost: one row.
SELECT CURRENT SERVER,
       S.CREATE_TIME
  FROM SYSCAT.TABLESPACES AS S
 WHERE S.TBSPACEID = 0
  WITH UR
