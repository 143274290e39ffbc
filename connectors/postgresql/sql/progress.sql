-- How far a backend is: bytes in the target tablespace (uncommitted files count), the phase of an index build and the
-- share of it that is done by blocks or tuples, whether it waits for a lock, and behind which backends. SET TABLESPACE has no progress view in any version up to 18.
-- Reads: pg_stat_activity, pg_stat_progress_create_index, the file system, pg_database, pg_tablespace. Since: 14.
-- Privilege: CREATE on the tablespace or pg_read_all_stats for the bytes. Cost: the server asks about every file of the tablespace.
SELECT CASE WHEN has_tablespace_privilege(t.oid, 'CREATE')
              OR pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
              OR t.oid = d.dattablespace THEN pg_tablespace_size(t.oid) END,
       (SELECT b.phase FROM pg_catalog.pg_stat_progress_create_index AS b WHERE b.pid = %(pid)s),
       -- While tuples are loaded the view still shows the blocks of the scan before, all of them done.
       (SELECT CASE WHEN b.blocks_total > 0 AND position('loading' IN b.phase) = 0 THEN b.blocks_done::float8 / b.blocks_total::float8
                    WHEN b.tuples_total > 0 THEN b.tuples_done::float8 / b.tuples_total::float8 ELSE 0 END
          FROM pg_catalog.pg_stat_progress_create_index AS b WHERE b.pid = %(pid)s),
       coalesce((SELECT a.wait_event_type = 'Lock' FROM pg_catalog.pg_stat_activity AS a WHERE a.pid = %(pid)s), false),
       ARRAY(SELECT DISTINCT b.pid
               FROM pg_catalog.pg_stat_activity AS a, unnest(pg_catalog.pg_blocking_pids(a.pid)) AS b (pid)
              WHERE a.pid = %(pid)s AND a.wait_event_type = 'Lock' AND b.pid <> 0
              ORDER BY b.pid)
  FROM pg_catalog.pg_tablespace AS t
  JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
 WHERE t.spcname = %(space)s
