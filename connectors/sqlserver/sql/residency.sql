-- Pages of one heap or index that are in memory. Only asked when somebody wants it and the pool is small enough: there is
-- a row for each cached page, 131,072 in each GiB, and pages that are latched are left out.
-- Reads: sys.dm_os_buffer_descriptors, sys.allocation_units, sys.partitions. Since: 2012. Privilege: VIEW SERVER STATE
-- (2022: VIEW SERVER PERFORMANCE STATE). Cost: one pass over the list of all cached pages.
SELECT CONVERT(bigint, COUNT(*)) AS pages
  FROM sys.dm_os_buffer_descriptors AS b
  JOIN sys.allocation_units AS a ON a.allocation_unit_id = b.allocation_unit_id
  JOIN sys.partitions AS p ON p.hobt_id = a.container_id AND a.type IN (1, 3)
 WHERE b.database_id = DB_ID()
   AND p.object_id = CONVERT(int, ?)
   AND p.index_id = CONVERT(int, ?)
