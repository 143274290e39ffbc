-- What this login is and owns that it must not, one sentence a row: prove drops and moves, so it takes no login that can
-- do more than that in its scratch schema.
-- Reads: pg_roles, pg_namespace, pg_class, pg_database. Since: 14. Privilege: none. Cost: some milliseconds.
SELECT current_user || ' is ' || CASE WHEN r.oid = u.oid THEN '' ELSE 'a member of ' || r.rolname || ', which is ' END
       || 'a superuser'
  FROM pg_catalog.pg_roles AS u
  JOIN pg_catalog.pg_roles AS r ON r.rolsuper AND pg_has_role(u.oid, r.oid, 'MEMBER')
 WHERE u.rolname = current_user
   AND (r.oid = u.oid OR NOT u.rolsuper) -- a superuser counts as a member of every role
UNION ALL
SELECT current_user || ' may ' || g.may
  FROM pg_catalog.pg_roles AS r
 CROSS JOIN LATERAL (VALUES (r.rolcreaterole, 'create roles'), (r.rolcreatedb, 'create databases'),
                            (r.rolbypassrls, 'pass by row security'), (r.rolreplication, 'replicate')) AS g (can, may)
 WHERE r.rolname = current_user
   AND g.can
   AND NOT r.rolsuper
UNION ALL
SELECT current_user || ' also owns the schema ' || quote_ident(n.nspname)
  FROM pg_catalog.pg_namespace AS n
 WHERE pg_has_role(n.nspowner, 'USAGE')
   AND n.nspname <> {literal}
   AND n.nspname NOT LIKE 'pg\_%'
   AND NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user)
UNION ALL
SELECT current_user || ' also owns ' || quote_ident(n.nspname) || '.' || quote_ident(c.relname)
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
 WHERE pg_has_role(c.relowner, 'USAGE')
   AND n.nspname <> {literal}
   AND n.nspname NOT LIKE 'pg\_%'
   AND c.relkind IN ('r', 'm', 'p', 'v', 'f', 'S')
   AND NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user)
UNION ALL
SELECT current_user || ' owns the database ' || quote_ident(d.datname)
  FROM pg_catalog.pg_database AS d
 WHERE d.datname = current_database()
   AND pg_has_role(d.datdba, 'USAGE')
   AND NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user)
 LIMIT 10
