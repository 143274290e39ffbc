-- Who follows this server, for what commits wait, and which replication slots keep its log.
-- Reads: settings, pg_db_role_setting, pg_stat_replication, pg_replication_slots. Since: 14.
-- Privilege: pg_read_all_stats for the state of standbys. Cost: some milliseconds.
SELECT current_setting('synchronous_standby_names') AS synchronous_names,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('synchronous_commit') = 'remote_apply'
       -- A role or a database may set it for its own sessions: those commits wait as well, though our session shows
       -- another value.
       OR EXISTS (SELECT
                    FROM pg_catalog.pg_db_role_setting AS s, unnest(s.setconfig) AS c (entry)
                   WHERE lower(c.entry) = 'synchronous_commit=remote_apply') AS remote_apply,
       coalesce((SELECT json_agg(json_build_array(
                            coalesce(nullif(r.application_name, ''), 'a standby'), coalesce(r.sync_state, 'not known'),
                            pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                                                 ELSE pg_current_wal_lsn() END, r.replay_lsn)::bigint) ORDER BY r.application_name, r.pid)
                   FROM pg_catalog.pg_stat_replication AS r
                  WHERE r.state IS NULL OR r.state IN ('streaming', 'catchup')), '[]') AS standbys,
       coalesce((SELECT json_agg(json_build_array(
                            s.slot_name,
                            pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                                                 ELSE pg_current_wal_lsn() END, s.restart_lsn)::bigint)
                        ORDER BY s.slot_name)
                   FROM pg_catalog.pg_replication_slots AS s
                  WHERE NOT s.active AND NOT s.temporary AND s.restart_lsn IS NOT NULL), '[]') AS inactive_slots
