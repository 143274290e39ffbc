-- Bytes of a page of the table space where cases are made.
-- Reads: SYSCAT.TABLESPACES. Since: 9.7. Privilege: SELECT. Cost: under a millisecond.
SELECT S.PAGESIZE
  FROM SYSCAT.TABLESPACES AS S
 WHERE S.TBSPACE = {slow literal}
  WITH UR
