-- What this login lacks to move relations to a tablespace. Membership of the owner does; a rebuild takes MAINTAIN, too.
-- Reads: pg_class, pg_index, pg_tablespace, pg_database. Since: 14. Privilege: none. Cost: a few milliseconds.
SELECT DISTINCT 'the rights of the owner ' || quote_ident(pg_get_userbyid(c.relowner)) AS what
  FROM pg_catalog.pg_class AS c
 WHERE c.oid = ANY(%(ids)s::oid[])
   AND NOT pg_has_role(c.relowner, 'USAGE')
   AND NOT (%(rebuilds)s::boolean
            AND CASE WHEN current_setting('server_version_num')::int >= 170000
                     THEN has_table_privilege((SELECT i.indrelid FROM pg_catalog.pg_index AS i WHERE i.indexrelid = c.oid),
                                              'MAINTAIN')
                     ELSE false END)
 UNION ALL
SELECT 'CREATE on tablespace ' || quote_ident(s.spcname)
  FROM pg_catalog.pg_tablespace AS s
  JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
 WHERE s.spcname = %(space)s
   AND s.oid <> d.dattablespace
   AND NOT has_tablespace_privilege(s.oid, 'CREATE')
 ORDER BY 1
