-- What else is made of this database's files: a snapshot (no file can be removed while one exists) and a mirror (which
-- needs the same folders); and whether it is encrypted. Without VIEW ANY DATABASE other databases, and so snapshots, are not shown.
-- Reads: sys.databases, sys.database_mirroring, HAS_PERMS_BY_NAME. Since: 2012. Privilege: VIEW ANY DATABASE, which
-- public has unless it was taken away. Cost: under a millisecond.
SELECT MAX(HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW ANY DATABASE')) AS sees_all,
       MIN(s.name) AS snapshot_name,
       COUNT(m.mirroring_guid) AS mirrored,
       MIN(d.recovery_model_desc) AS recovery_model_desc,
       MAX(CASE d.is_encrypted WHEN 1 THEN 1 ELSE 0 END) AS is_encrypted
  FROM sys.databases AS d
  LEFT JOIN sys.databases AS s ON s.source_database_id = d.database_id
  LEFT JOIN sys.database_mirroring AS m ON m.database_id = d.database_id
 WHERE d.database_id = DB_ID()
