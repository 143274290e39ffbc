-- Every disk unit by its resource name, also those in no ASP (unit 0): one row for each path to it. Asked only where units are to
-- be added to an ASP.
-- Reads: QSYS2.SYSDISKSTAT. Since: 7.1. Privilege: none up to 7.5. Cost: a row a path.
SELECT S.RESOURCE_NAME,
       S.ASP_NUMBER,
       S.UNIT_NUMBER,
       S.UNIT_TYPE
  FROM QSYS2.SYSDISKSTAT AS S
  WITH UR
