-- How full each table space is and what state it is in, by member. FS_CACHING is inverted: 0 means the operating system
-- caches its files.
-- Reads: MON_GET_TABLESPACE. Since: 9.7. Privilege: EXECUTE on it. Cost: one row a table space a member.
SELECT T.TBSP_ID,
       T.MEMBER,
       T.TBSP_PAGE_SIZE,
       T.TBSP_TOTAL_PAGES,
       T.TBSP_USED_PAGES,
       T.TBSP_FREE_PAGES,
       T.TBSP_PENDING_FREE_PAGES,
       T.TBSP_USING_AUTO_STORAGE,
       T.TBSP_AUTO_RESIZE_ENABLED,
       T.AUTO_STORAGE_HYBRID,
       T.TBSP_PATHS_DROPPED,
       T.RECLAIMABLE_SPACE_ENABLED,
       T.FS_CACHING,
       T.TBSP_STATE,
       T.TBSP_REBALANCER_MODE,
       T.CACHING_TIER, -- since 12.1, VARCHAR(8)
       T.TBSP_PAGE_TOP,
       T.TBSP_MAX_SIZE -- since 10.1, BIGINT
  FROM TABLE(SYSPROC.MON_GET_TABLESPACE('', -2)) AS T
  WITH UR
