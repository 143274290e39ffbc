-- Rebalances that are under way, suspended ones included. No row means none, not that one has succeeded.
-- Reads: MON_GET_REBALANCE_STATUS. Since: 10.1. Privilege: EXECUTE on it. Cost: one row each.
SELECT R.TBSP_NAME,
       R.DBPARTITIONNUM,
       R.REBALANCER_MODE,
       R.REBALANCER_STATUS,
       R.REBALANCER_EXTENTS_REMAINING,
       R.REBALANCER_EXTENTS_PROCESSED
  FROM TABLE(SYSPROC.MON_GET_REBALANCE_STATUS('', -2)) AS R
  WITH UR
