-- Objects that have counters and whose definition this login may not see: a DENY on a table hides it, not its counters.
-- Reads: sys.dm_db_index_operational_stats, sys.objects. Since: 2012. Privilege: VIEW DATABASE STATE (2022: VIEW DATABASE
-- PERFORMANCE STATE). Cost: as a sample.
SELECT COUNT(DISTINCT o.object_id) AS unseen,
       MIN(o.object_id) AS example_id
  FROM sys.dm_db_index_operational_stats(DB_ID(), NULL, NULL, NULL) AS o
  LEFT JOIN sys.objects AS s ON s.object_id = o.object_id
 WHERE o.object_id > 100
   AND s.object_id IS NULL
