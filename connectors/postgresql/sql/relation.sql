-- Everything about one relation, by its key, that decides how it can be moved and where it is.
-- Reads: pg_class, pg_namespace, pg_index, pg_tablespace, pg_locks, the file system, pg_database, pg_settings.
-- Since: 14. Privilege: none, but pg_read_all_settings for the data directory. Cost: a few milliseconds.
SELECT c.oid::bigint AS oid,
       n.nspname AS schema,
       c.relname AS name,
       c.relkind::text AS kind,
       c.relispartition OR coalesce(p.relispartition, false) AS partition,
       c.relpersistence::text AS persistence,
       c.relisshared OR c.relfilenode = 0::oid AS mapped, -- the catalog does not hold its file, so nothing moves it
       c.oid < 16384::oid OR n.nspname IN ('pg_catalog', 'information_schema', 'pg_toast') AS system,
       -- reltablespace is 0 in the default tablespace of the database, whichever that is.
       coalesce(nullif(c.reltablespace, 0::oid), d.dattablespace)::bigint AS space_oid,
       home.spcname AS space,
       (SELECT t.oid::bigint FROM pg_catalog.pg_tablespace AS t WHERE t.spcname = %(space)s) AS target_oid,
       coalesce(i.indisexclusion, false) AS exclusion,
       coalesce(i.indisvalid, true) AS valid,
       coalesce(i.indrelid, c.oid)::bigint AS table_oid,
       quote_ident(tn.nspname) || '.' || quote_ident(own.relname) AS table_key,
       own_home.spcname AS table_space,
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_locks AS l
                          WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.relation = own.oid)
            THEN (own.relpages::bigint & 4294967295) * current_setting('block_size')::bigint
            ELSE coalesce(pg_relation_size(own.oid), 0) END AS table_bytes,
       coalesce((SELECT count(*) FROM pg_catalog.pg_index AS x WHERE x.indrelid = c.oid), 0)::int AS indexes,
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_locks AS l
                          WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'
                            AND l.relation IN (c.oid, c.reltoastrelid))
            THEN ((c.relpages::bigint & 4294967295) + coalesce(toast.relpages::bigint & 4294967295, 0)) * current_setting('block_size')::bigint
            WHEN c.relkind = 'i' THEN pg_relation_size(c.oid)
            ELSE pg_table_size(c.oid) END AS bytes,
       pg_relation_filepath(c.oid) AS file,
       CASE WHEN pg_has_role(current_user, 'pg_read_all_settings', 'USAGE')
            THEN current_setting('data_directory') END AS data_directory,
       current_setting('wal_level') AS wal_level,
       pg_is_in_recovery() AS standby,
       (SELECT system_identifier FROM pg_catalog.pg_control_system()) AS system_identifier,
       (SELECT s.setting::float8 / 1000::float8 FROM pg_catalog.pg_settings AS s WHERE s.name = 'deadlock_timeout')
           AS deadlock_seconds,
       -- Parameters that only these services define, as their manuals list them.
       CASE WHEN current_setting('rds.extensions', true) IS NOT NULL THEN 'Amazon RDS or Aurora'
            WHEN current_setting('azure.extensions', true) IS NOT NULL THEN 'Azure Database for PostgreSQL'
            WHEN current_setting('cloudsql.iam_authentication', true) IS NOT NULL THEN 'Google Cloud SQL'
            WHEN current_setting('alloydb.iam_authentication', true) IS NOT NULL THEN 'Google AlloyDB'
            ELSE '' END AS service
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
  JOIN pg_catalog.pg_tablespace AS home ON home.oid = coalesce(nullif(c.reltablespace, 0::oid), d.dattablespace)
  LEFT JOIN pg_catalog.pg_index AS i ON i.indexrelid = c.oid
  LEFT JOIN pg_catalog.pg_class AS p ON p.oid = i.indrelid
  JOIN pg_catalog.pg_class AS own ON own.oid = coalesce(i.indrelid, c.oid)
  JOIN pg_catalog.pg_namespace AS tn ON tn.oid = own.relnamespace
  JOIN pg_catalog.pg_tablespace AS own_home ON own_home.oid = coalesce(nullif(own.reltablespace, 0::oid), d.dattablespace)
  LEFT JOIN pg_catalog.pg_class AS toast ON toast.oid = c.reltoastrelid AND c.reltoastrelid <> 0::oid
 -- By name and not by oid: REINDEX CONCURRENTLY gives an index another one, and a key outlives it.
 WHERE n.nspname = (parse_ident(%(key)s))[1]
   AND c.relname = (parse_ident(%(key)s))[2]
