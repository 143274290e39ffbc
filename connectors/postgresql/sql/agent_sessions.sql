-- Sessions of agents with this login in this database that act: those with the lease, by the lock or by their name, and those
-- that move. Of no other login: anyone may call a session so, or take the lock.
-- Reads: pg_stat_activity, pg_locks. Since: 14. Privilege: none for what belongs to the same login. Cost: under 1 ms.
SELECT a.pid,
       a.application_name AS name,
       a.state = 'active' AS active,
       l.pid IS NOT NULL OR starts_with(a.application_name, %(mark)s::text) AS has_lease
  FROM pg_catalog.pg_stat_activity AS me
  JOIN pg_catalog.pg_stat_activity AS a ON a.usesysid = me.usesysid AND a.datid = me.datid
  LEFT JOIN pg_catalog.pg_locks AS l
    ON l.pid = a.pid
   AND l.locktype = 'advisory'
   AND l.granted
   AND (l.classid::bigint << 32) | l.objid::bigint = %(key)s::bigint
   AND l.objsubid = 1::int2
 WHERE me.pid = pg_backend_pid()
   AND (a.application_name = %(moving)s::text OR starts_with(a.application_name, %(mark)s::text) OR l.pid IS NOT NULL)
