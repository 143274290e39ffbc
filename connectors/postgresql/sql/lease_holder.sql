-- Who holds the lease.
-- Reads: pg_locks, pg_stat_activity. Since: 14. Privilege: pg_read_all_stats for what belongs to others. Cost: under 1 ms.
SELECT l.pid, coalesce(a.application_name, ''), coalesce(host(a.client_addr), 'local'), l.pid = pg_backend_pid()
  FROM pg_catalog.pg_locks AS l
  LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
 WHERE l.locktype = 'advisory'
   AND l.granted
   AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
   AND (l.classid::bigint << 32) | l.objid::bigint = %(key)s::bigint
   AND l.objsubid = 1
