-- Every disk unit, also those on which no table lies yet: one row for each path to it. Unit 0 is in no ASP.
-- Reads: QSYS2.SYSDISKSTAT. Since: 7.1. Privilege: none up to 7.5. Cost: a row a path.
SELECT S.ASP_NUMBER,
       S.UNIT_NUMBER,
       S.UNIT_TYPE,
       S.UNIT_STORAGE_CAPACITY,
       S.UNIT_SPACE_AVAILABLE
  FROM QSYS2.SYSDISKSTAT AS S
 WHERE S.UNIT_NUMBER <> 0
  WITH UR
