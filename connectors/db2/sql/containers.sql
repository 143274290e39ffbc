-- Files and devices under each table space, by member. Reads: MON_GET_CONTAINER. Since: 9.7. Privilege: EXECUTE on it.
-- Cost: one row a container a member.
SELECT C.TBSP_ID,
       C.MEMBER,
       C.CONTAINER_ID,
       C.CONTAINER_NAME,
       C.CONTAINER_TYPE,
       C.TOTAL_PAGES,
       C.FS_ID,
       C.FS_TOTAL_SIZE,
       C.FS_USED_SIZE
  FROM TABLE(SYSPROC.MON_GET_CONTAINER('', -2)) AS C
  WITH UR
