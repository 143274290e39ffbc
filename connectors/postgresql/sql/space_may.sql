-- Whether this login may make a tablespace here, who else has the place, and what kind of server it is.
-- Reads: pg_roles, pg_tablespace. Since: 14. Privilege: none. Cost: a few milliseconds.
SELECT r.rolsuper AS superuser,
       pg_is_in_recovery() AS standby,
       quote_ident(r.rolname) AS login,
       (SELECT min(t.spcname) FROM pg_catalog.pg_tablespace AS t WHERE pg_tablespace_location(t.oid) = %(place)s) AS taken
  FROM pg_catalog.pg_roles AS r
 WHERE r.rolname = current_user
