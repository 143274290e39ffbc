-- What this login may do with each tablespace.
-- Reads: pg_tablespace, pg_database. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT t.spcname,
       quote_ident(t.spcname) AS quoted,
       quote_ident(current_user) AS login,
       has_tablespace_privilege(t.oid, 'CREATE') OR t.oid = d.dattablespace AS may_create
  FROM pg_catalog.pg_tablespace AS t
  JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
 WHERE t.spcname <> 'pg_global'
 ORDER BY t.spcname
