-- Whether the server can use the files of a tablespace: an error says why not. A relation of NULL: none is there.
-- Reads: pg_tablespace, the file system. Since: 14. Privilege: as spaces.sql. Cost: as spaces.sql, of one tablespace.
SELECT pg_relation_size(%(relation)s::bigint::oid) AS bytes,
       CASE WHEN has_tablespace_privilege(t.oid, 'CREATE') OR pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
            THEN pg_tablespace_size(t.oid) END AS in_space
  FROM pg_catalog.pg_tablespace AS t
 WHERE t.oid = %(space_id)s::bigint::oid
