-- Room in the transaction log, in bytes: what is free in it, and what its files may still grow (NULL: without limit).
-- Reads: sys.dm_db_log_space_usage, sys.database_files. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER
-- PERFORMANCE STATE). Cost: under a millisecond.
SELECT u.total_log_size_in_bytes,
       u.used_log_space_in_bytes,
       (SELECT SUM(CASE WHEN f.growth = 0 OR f.max_size = 0 THEN 0
                        WHEN f.max_size = -1 THEN NULL
                        ELSE CONVERT(bigint, f.max_size) - CONVERT(bigint, f.size) END) * 8192
          FROM sys.database_files AS f WHERE f.type = 1) AS growth_bytes,
       (SELECT COUNT(*) FROM sys.database_files AS f
         WHERE f.type = 1 AND f.growth > 0 AND f.max_size = -1) AS unlimited_files
  FROM sys.dm_db_log_space_usage AS u
