-- Who has the lock of the lease: process, name, from where, as whom, whether with the login of this session, and whether it is
-- this session. A session that acts without the lock, because a stranger has it, is known by its name.
-- Reads: pg_locks, pg_stat_activity. Since: 14. Privilege: pg_read_all_stats for names of other roles' sessions. Cost: under 1 ms.
SELECT l.pid,
       coalesce(a.application_name, '') AS name,
       coalesce(host(a.client_addr), 'local') AS client,
       coalesce(a.usename::text, 'none') AS role,
       coalesce(a.usesysid = me.usesysid, false) AS own,
       coalesce(l.pid = me.pid, false) AS ours
  FROM pg_catalog.pg_locks AS l
  JOIN pg_catalog.pg_stat_activity AS me ON me.pid = pg_backend_pid()
  LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
 WHERE l.locktype = 'advisory'
   AND l.granted
   AND l.database = me.datid
   AND (l.classid::bigint << 32) | l.objid::bigint = %(key)s::bigint
   AND l.objsubid = 1::int2
