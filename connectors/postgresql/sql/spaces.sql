-- Tablespaces that user data may live in, with their folder and, where this login may know it, the bytes in them.
-- Reads: pg_tablespace, pg_database. Since: 14. Privilege: pg_read_all_stats or CREATE on the tablespace for the size,
-- pg_read_all_settings for the data directory. Cost: the server asks the file system about every file of a tablespace.
SELECT t.oid::bigint,
       t.spcname,
       CASE WHEN t.spcname <> 'pg_default' THEN pg_tablespace_location(t.oid)
            WHEN pg_has_role(current_user, 'pg_read_all_settings', 'USAGE') THEN current_setting('data_directory')
            ELSE '' END,
       CASE WHEN t.oid::bigint = ANY (unread.spaces) THEN NULL
            WHEN has_tablespace_privilege(t.oid, 'CREATE')
              OR pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
              OR t.oid = d.dattablespace THEN pg_tablespace_size(t.oid) END
  FROM pg_catalog.pg_tablespace AS t
  JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
 CROSS JOIN (SELECT '{}'::bigint[] AS spaces) AS unread -- whose files the server cannot use, filled in then
 WHERE t.spcname <> 'pg_global'
 ORDER BY t.oid
