-- Relations that this login may not move, of each owner how many, and the first few that can be given to another owner,
-- one row each, with its kind, and who owns its schema and the database. Names that a statement may hold are quoted.
-- Reads: pg_class, pg_namespace, pg_database. Since: 14. Privilege: none. Cost: one scan of pg_class.
WITH unmovable AS (
    SELECT c.relowner, c.relkind, c.relname, n.nspname, n.nspowner,
           count(*) OVER (PARTITION BY c.relowner) AS relations,
           -- An index has the owner of its table.
           count(*) FILTER (WHERE c.relkind <> 'i') OVER (PARTITION BY c.relowner) AS tables,
           row_number() OVER (PARTITION BY c.relowner ORDER BY c.relkind = 'i', n.nspname, c.relname) AS place
      FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE c.oid >= 16384::oid
       AND c.relkind IN ('r', 'm', 'i')
       AND c.relpersistence <> 't'
       AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
       -- Membership and not only ownership: moving needs what an owner may do, and a member of the owning role may do it.
       AND NOT pg_has_role(current_user, c.relowner, 'USAGE')
)
SELECT pg_get_userbyid(u.relowner)::text AS owner,
       quote_ident(pg_get_userbyid(u.relowner)) AS quoted,
       quote_ident(current_user) AS login,
       u.relations::int AS relations,
       u.tables::int AS tables,
       quote_ident(u.nspname) || '.' || quote_ident(u.relname) AS example,
       u.relkind::text AS kind,
       pg_get_userbyid(u.nspowner)::text AS schema_owner,
       quote_ident(pg_get_userbyid(u.nspowner)) AS schema_owner_quoted,
       pg_get_userbyid(d.datdba)::text AS database_owner,
       quote_ident(pg_get_userbyid(d.datdba)) AS database_owner_quoted
  FROM unmovable AS u
  JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
 WHERE u.place = 1 OR (u.relkind <> 'i' AND u.place <= %(most)s::int)
 ORDER BY u.relowner, u.place
