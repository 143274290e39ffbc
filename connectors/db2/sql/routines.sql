-- Routines of SYSPROC by that name: whether a function that was not found is missing, or may not be executed.
-- Reads: SYSCAT.ROUTINES. Since: 9.7. Privilege: SELECT. Cost: a row or two.
SELECT R.SPECIFICNAME
  FROM SYSCAT.ROUTINES AS R
 WHERE R.ROUTINESCHEMA = 'SYSPROC'
   AND R.ROUTINENAME = CAST(? AS VARCHAR(128))
  WITH UR
