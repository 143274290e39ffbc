-- Servers that replay what this one logs, in words: standbys that stream, and physical slots that keep the log for one that
-- does not stream now. Subscribers replay no CREATE TABLESPACE. Those that follow by an archive alone are not seen.
-- Reads: pg_stat_replication, pg_replication_slots. Since: 14.
-- Privilege: pg_read_all_stats for the state of standbys. Cost: some milliseconds.
SELECT 'the standby ' || coalesce(nullif(r.application_name, ''), 'without a name') AS who
  FROM pg_catalog.pg_stat_replication AS r
 WHERE (r.state IS NULL OR r.state IN ('startup', 'catchup', 'streaming'))
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots AS s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
UNION
SELECT 'the slot ' || s.slot_name::text
  FROM pg_catalog.pg_replication_slots AS s
 WHERE s.slot_type = 'physical' AND NOT s.active AND NOT s.temporary
 ORDER BY who DESC
