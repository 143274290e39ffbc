-- Share of the rows that statistics of the indexes of one object are always sampled with; NULL where none was stated.
-- Reads: sys.stats, sys.dm_db_stats_properties. Since: 2012. Privilege: VIEW ANY DEFINITION, and SELECT on the table to
-- see the share; else there are no rows. Cost: under a millisecond.
SELECT t.stats_id AS index_id,
       d.persisted_sample_percent AS persisted_sample_percent --@14 NULL
  FROM sys.stats AS t
 CROSS APPLY sys.dm_db_stats_properties(t.object_id, t.stats_id) AS d
 WHERE t.object_id = CONVERT(int, ?)
