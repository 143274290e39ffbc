-- Sessions of agents in this database that act: the one with the lease, and those that move.
-- Reads: pg_stat_activity, pg_locks. Since: 14. Privilege: none for what belongs to the same login. Cost: under 1 ms.
SELECT a.pid, a.application_name, a.state = 'active', l.pid IS NOT NULL
  FROM pg_catalog.pg_stat_activity AS a
  LEFT JOIN pg_catalog.pg_locks AS l
    ON l.pid = a.pid
   AND l.locktype = 'advisory'
   AND l.granted
   AND (l.classid::bigint << 32) | l.objid::bigint = %(key)s::bigint
   AND l.objsubid = 1
 WHERE a.datname = current_database()
   AND (a.application_name = %(moving)s OR l.pid IS NOT NULL)
