-- Paths of every storage group with the room in their file systems, in bytes, by member.
-- Reads: ADMIN_GET_STORAGE_PATHS (member 0 on pureScale, where all see the same disks). Since: 10.1.
-- Privilege: EXECUTE on it. Cost: one row a path a member.
SELECT P.STORAGE_GROUP_NAME,
       P.DBPARTITIONNUM,
       P.DB_STORAGE_PATH,
       P.DB_STORAGE_PATH_STATE,
       P.FS_ID,
       P.FS_TOTAL_SIZE,
       P.STO_PATH_FREE_SIZE
  FROM TABLE(SYSPROC.ADMIN_GET_STORAGE_PATHS('', CAST(? AS INTEGER))) AS P
  WITH UR
