-- Who may do what with every table of the scratch schema.
-- Reads: sys.database_permissions, sys.database_principals. Since: 2012. Privilege: none. Cost: some milliseconds.
SELECT CONCAT(p.permission_name, ' on ', t.name, ' column ', p.minor_id, ' to ', g.name) AS what, p.state_desc AS how
  FROM sys.tables AS t
  JOIN sys.schemas AS s ON s.schema_id = t.schema_id AND s.name = {literal}
  JOIN sys.database_permissions AS p ON p.class = 1 AND p.major_id = t.object_id
  JOIN sys.database_principals AS g ON g.principal_id = p.grantee_principal_id
