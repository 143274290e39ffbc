-- Pages of everything in one filegroup.
-- Reads: sys.allocation_units, sys.filegroups. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: one pass over the
-- allocation units.
SELECT CONVERT(bigint, COALESCE(SUM(a.total_pages), 0)) AS pages
  FROM sys.filegroups AS g
  JOIN sys.allocation_units AS a ON a.data_space_id = g.data_space_id
 WHERE g.name = CONVERT(nvarchar(128), ?)
