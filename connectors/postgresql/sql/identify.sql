-- Who answers, and which database this is.
-- Reads: pg_control_system(), pg_database. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT current_setting('server_version'),
       current_setting('server_version_num')::int,
       current_database(),
       (SELECT system_identifier FROM pg_catalog.pg_control_system()),
       d.oid::bigint,
       pg_is_in_recovery()
  FROM pg_catalog.pg_database AS d
 WHERE d.datname = current_database()
