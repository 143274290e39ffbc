-- What each of some roles may do beyond its own objects, by itself or as a role that it may become, and this login may not:
-- attributes that reach the whole server, and the server's own roles (pg_...). Not pg_database_owner, which the owner of the
-- database is by owning it.
-- Reads: pg_roles. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT r.rolname::text AS role, p.power
  FROM pg_catalog.pg_roles AS r
  JOIN pg_catalog.pg_roles AS m ON pg_has_role(r.oid, m.oid, 'MEMBER') AND (r.oid = m.oid OR NOT r.rolsuper)
 CROSS JOIN LATERAL (VALUES (m.rolsuper, 'SUPERUSER'), (m.rolcreaterole, 'CREATEROLE'), (m.rolreplication, 'REPLICATION'),
                            (m.rolbypassrls, 'BYPASSRLS'),
                            (starts_with(m.rolname::text, 'pg_')
                             AND (m.oid = r.oid OR m.rolname <> 'pg_database_owner'), m.rolname::text)) AS p (has, power)
 WHERE r.rolname = ANY (%(roles)s::name[])
   AND p.has
   AND NOT pg_has_role(current_user, m.oid, 'MEMBER')
 GROUP BY r.rolname, p.power
 ORDER BY r.rolname, p.power
