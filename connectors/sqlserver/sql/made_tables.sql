-- Tables that an interrupted move may have left in a schema: rows, pages, where, and for how long rows are to be kept still.
-- Reads: sys.tables, sys.schemas, sys.partitions, sys.allocation_units, sys.data_spaces, sys.extended_properties. Since: 2012.
-- Privilege: VIEW ANY DEFINITION. Cost: under a millisecond.
SELECT t.name AS table_name,
       CONVERT(bigint, SUM(CASE WHEN p.index_id <= 1 THEN p.rows ELSE 0 END)) AS row_count,
       CONVERT(bigint, SUM(COALESCE(a.total_pages, 0))) AS total_pages,
       MIN(d.name) AS space_name,
       (SELECT TRY_CONVERT(nvarchar(30), k.value)
          FROM sys.extended_properties AS k
         WHERE k.class = 1 AND k.major_id = t.object_id AND k.minor_id = 0 AND k.name = N'hotplace_kept_until') AS kept_until,
       CONVERT(nvarchar(30), SYSUTCDATETIME(), 126) AS server_time
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id
  JOIN sys.partitions AS p ON p.object_id = t.object_id
  LEFT JOIN sys.allocation_units AS a ON a.container_id = p.hobt_id AND a.type = 1
  LEFT JOIN sys.data_spaces AS d ON d.data_space_id = a.data_space_id
 WHERE s.name = CONVERT(nvarchar(128), ?)
   AND LEFT(t.name, 9) = 'hotplace_'
 GROUP BY t.name, t.object_id
