-- Blocks asked of each buffer pool and blocks that were not there, since the instances were started.
-- Reads: GV$BUFFER_POOL_STATISTICS. Since: 11.2. Privilege: SELECT on SYS.GV_$BUFFER_POOL_STATISTICS. Cost: a millisecond.
SELECT B.NAME,
       B.BLOCK_SIZE,
       SUM(B.DB_BLOCK_GETS + B.CONSISTENT_GETS) AS GETS,
       SUM(B.PHYSICAL_READS) AS MISSES
  FROM SYS.GV_$BUFFER_POOL_STATISTICS B
 GROUP BY B.NAME, B.BLOCK_SIZE
 ORDER BY B.NAME, B.BLOCK_SIZE
