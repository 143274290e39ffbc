-- Facts about server and login that decide how well hotplace can see and act.
-- Reads: settings, pg_stat_database. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::int AS version_number,
       quote_ident(current_user) AS login,
       pg_has_role(current_user, 'pg_monitor', 'USAGE') AS monitor,
       current_setting('track_counts')::boolean AS counters,
       current_setting('track_io_timing')::boolean AS timing,
       current_setting('track_wal_io_timing')::boolean AS log_timing,
       pg_is_in_recovery() AS standby,
       s.stats_reset,
       CASE WHEN current_setting('rds.extensions', true) IS NOT NULL THEN 'Amazon RDS or Aurora'
            WHEN current_setting('azure.extensions', true) IS NOT NULL THEN 'Azure Database for PostgreSQL'
            WHEN current_setting('cloudsql.iam_authentication', true) IS NOT NULL THEN 'Google Cloud SQL'
            WHEN current_setting('alloydb.iam_authentication', true) IS NOT NULL THEN 'Google AlloyDB'
            ELSE '' END AS service
  FROM pg_catalog.pg_stat_database AS s
 WHERE s.datname = current_database()
