-- Exact sizes of one table in KB, by data partition and database partition. The logical size is what it needs elsewhere.
-- Reads: ADMIN_GET_TAB_INFO, always with both filters: without them it is slow. Since: 9.7. Privilege: EXECUTE (PUBLIC has
-- it unless the database is restrictive). Cost: a look at one table; waits for a LOAD of it.
SELECT A.DBPARTITIONNUM,
       A.DATA_PARTITION_ID,
       A.DATA_OBJECT_L_SIZE,
       A.INDEX_OBJECT_L_SIZE,
       A.LONG_OBJECT_L_SIZE,
       A.LOB_OBJECT_L_SIZE,
       A.XML_OBJECT_L_SIZE,
       A.COL_OBJECT_L_SIZE -- since 10.5, BIGINT
  FROM TABLE(SYSPROC.ADMIN_GET_TAB_INFO(CAST(? AS VARCHAR(128)), CAST(? AS VARCHAR(128)))) AS A
  WITH UR
