-- What SWITCH of a partition of this table would refuse, or what a second table of the same columns would lack.
-- Reads: sys.tables, sys.foreign_keys, sys.check_constraints, sys.change_tracking_tables, sys.columns, sys.indexes,
-- sys.views, sys.security_predicates, sys.databases. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: under
-- a millisecond.
SELECT (SELECT COUNT(*) FROM sys.foreign_keys AS k WHERE k.parent_object_id = t.object_id OR k.referenced_object_id = t.object_id) AS foreign_keys,
       (SELECT COUNT(*) FROM sys.check_constraints AS c WHERE c.parent_object_id = t.object_id) AS check_constraints,
       (SELECT COUNT(*) FROM sys.change_tracking_tables AS g WHERE g.object_id = t.object_id) AS change_tracking,
       CONVERT(int, t.is_tracked_by_cdc) AS change_capture,
       (SELECT COUNT(*) FROM sys.views AS v JOIN sys.indexes AS i ON i.object_id = v.object_id) AS indexed_views,
       (SELECT COUNT(*)
          FROM sys.columns AS d
         WHERE d.object_id = t.object_id
           AND (d.is_identity = 1 OR d.is_computed = 1 OR d.is_sparse = 1 OR d.is_rowguidcol = 1 OR d.is_filestream = 1
             OR d.rule_object_id <> 0 OR d.user_type_id <> d.system_type_id
             OR (d.is_ansi_padded = 0 AND d.system_type_id IN (165, 167, 173, 175)))) AS odd_columns,
       (SELECT COUNT(*) FROM sys.columns AS m WHERE m.object_id = t.object_id AND (m.generated_always_type <> 0 OR m.encryption_type IS NOT NULL OR m.is_masked = 1)) AS guarded_columns, --@13 0
       (SELECT COUNT(*) FROM sys.security_predicates AS r WHERE r.target_object_id = t.object_id) AS security_predicates, --@13 0
       CONVERT(int, t.uses_ansi_nulls) AS ansi_nulls,
       CONVERT(int, t.ledger_type) AS ledger, --@16 0
       CASE WHEN t.is_node = 1 OR t.is_edge = 1 THEN 1 ELSE 0 END AS graph, --@14 0
       (SELECT CONVERT(int, d.is_change_feed_enabled) FROM sys.databases AS d WHERE d.database_id = DB_ID()) AS change_feed --@16 0
  FROM sys.tables AS t
 WHERE t.object_id = CONVERT(int, ?)
