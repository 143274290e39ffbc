-- Rows that were inserted into one table and deleted from it since it was first touched, over all members and partitions.
-- Reads: MON_GET_TABLE. Since: 9.7. Privilege: EXECUTE on it. Cost: under a millisecond.
SELECT SUM(T.ROWS_INSERTED) AS INSERTED,
       SUM(T.ROWS_DELETED) AS DELETED
  FROM TABLE(SYSPROC.MON_GET_TABLE(CAST(? AS VARCHAR(128)), CAST(? AS VARCHAR(128)), -2)) AS T
  WITH UR
