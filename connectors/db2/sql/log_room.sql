-- Active log of each member, primary and secondary together, in bytes; -1 where it has no end.
-- Reads: MON_GET_TRANSACTION_LOG. Since: 10.5. Privilege: EXECUTE on it. Cost: one row a member.
SELECT L.MEMBER,
       L.TOTAL_LOG_AVAILABLE,
       L.TOTAL_LOG_USED
  FROM TABLE(SYSPROC.MON_GET_TRANSACTION_LOG(-2)) AS L
  WITH UR
