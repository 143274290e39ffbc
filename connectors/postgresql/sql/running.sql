-- Whether the server works on a statement that begins with a given tag, of whatever session.
-- Reads: pg_stat_activity. Since: 14. Privilege: pg_read_all_stats, or the moving account's own. Cost: under 1 ms.
SELECT count(*)::int
  FROM pg_catalog.pg_stat_activity AS a
 WHERE a.datname = current_database()
   AND a.state = 'active'
   AND a.pid <> pg_backend_pid()
   AND starts_with(a.query, %(tag)s)
