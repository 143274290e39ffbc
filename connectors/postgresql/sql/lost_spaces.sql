-- Tablespaces whose folder the server does not find, though this login may ask for their size: their size is unknown.
-- Reads: pg_tablespace, pg_database. Since: 14. Privilege: none; of tablespaces that it may not ask about nothing is said.
-- Cost: as spaces.sql, which asks the same.
SELECT t.spcname AS name
  FROM pg_catalog.pg_tablespace AS t
  JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
 CROSS JOIN (SELECT '{}'::bigint[] AS spaces) AS unread -- whose files the server cannot use, filled in then
 WHERE t.spcname NOT IN ('pg_global', 'pg_default')
   -- CASE, because conditions are taken in any order, and the size is refused to who may not ask for it.
   AND CASE WHEN t.oid::bigint = ANY (unread.spaces) THEN false
            WHEN has_tablespace_privilege(t.oid, 'CREATE')
              OR pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
              OR t.oid = d.dattablespace THEN pg_tablespace_size(t.oid) IS NULL ELSE false END
 ORDER BY 1
