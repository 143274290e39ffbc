-- Sessions of this login that act without the lock, by their name; in the columns of lease_holder.
-- Reads: pg_stat_activity. Since: 14. Privilege: none for what belongs to the same login. Cost: under a millisecond.
SELECT a.pid,
       a.application_name AS name,
       coalesce(host(a.client_addr), 'local') AS client,
       a.usename::text AS role,
       true AS own,
       a.pid = me.pid AS ours
  FROM pg_catalog.pg_stat_activity AS me
  JOIN pg_catalog.pg_stat_activity AS a ON a.usesysid = me.usesysid AND a.datid = me.datid
 WHERE me.pid = pg_backend_pid()
   AND starts_with(a.application_name, %(mark)s::text)
