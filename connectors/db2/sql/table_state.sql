-- Whether one table may be read and copied, by data partition and database partition. AVAILABLE is N where it can only be
-- dropped or restored; REORG_PENDING is Y after some ALTER TABLE; LOAD_STATUS is IN_PROGRESS, PENDING or NULL.
-- Reads: ADMIN_GET_TAB_INFO, always with both filters: without them it is slow. Since: 9.7. Privilege: EXECUTE (PUBLIC has
-- it unless the database is restrictive). Cost: a look at one table; waits for a LOAD of it.
SELECT A.AVAILABLE,
       A.REORG_PENDING,
       A.LOAD_STATUS
  FROM TABLE(SYSPROC.ADMIN_GET_TAB_INFO(CAST(? AS VARCHAR(128)), CAST(? AS VARCHAR(128)))) AS A
  WITH UR
