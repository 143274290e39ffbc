-- Locks that the moving session has or waits for on relations of the scratch schema: the relation's key, the mode in the
-- words of the manual, its rank (a stronger one is greater), whether it is granted.
-- Reads: pg_locks, pg_stat_activity, pg_class. Since: 14. Privilege: pg_read_all_stats, or the same login.
-- Cost: under 1 ms.
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname),
       m.words,
       m.rank::int,
       l.granted
  FROM pg_catalog.pg_locks AS l
  JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid AND a.application_name = 'hotplace move'
  JOIN pg_catalog.pg_class AS c ON c.oid = l.relation
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = {literal}
  JOIN (VALUES ('AccessShareLock', 'ACCESS SHARE', 1), ('RowShareLock', 'ROW SHARE', 2),
               ('RowExclusiveLock', 'ROW EXCLUSIVE', 3), ('ShareUpdateExclusiveLock', 'SHARE UPDATE EXCLUSIVE', 4),
               ('ShareLock', 'SHARE', 5), ('ShareRowExclusiveLock', 'SHARE ROW EXCLUSIVE', 6),
               ('ExclusiveLock', 'EXCLUSIVE', 7), ('AccessExclusiveLock', 'ACCESS EXCLUSIVE', 8)) AS m (mode, words, rank)
    ON m.mode = l.mode
 WHERE l.locktype = 'relation'
   AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
