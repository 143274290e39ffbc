-- Utilities that run now: what they read is not demand, and what they hold must not be moved.
-- Reads: MON_GET_UTILITY. Since: 10.5. Privilege: EXECUTE on it. Cost: one row each.
SELECT U.MEMBER,
       U.APPLICATION_HANDLE,
       U.UTILITY_TYPE,
       U.UTILITY_START_TIME,
       U.OBJECT_SCHEMA,
       U.OBJECT_NAME
  FROM TABLE(SYSPROC.MON_GET_UTILITY(-2)) AS U
  WITH UR
