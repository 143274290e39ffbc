-- Rights on one object and its columns, and who has them.
-- Reads: sys.database_permissions, sys.database_principals. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: under a
-- millisecond.
SELECT n.name AS grantee_name,
       p.permission_name,
       p.state_desc,
       CONVERT(int, p.minor_id) AS column_id
  FROM sys.database_permissions AS p
  JOIN sys.database_principals AS n ON n.principal_id = p.grantee_principal_id
 WHERE p.class = 1
   AND p.major_id = CONVERT(int, ?)
