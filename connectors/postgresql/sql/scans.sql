-- Blocks that were read, and the seconds that sessions waited for them, in all databases of the server; and of both what
-- scans took that keep to a small ring of buffers: of tables larger than a quarter of shared_buffers, and of VACUUM and
-- ANALYZE. Redo belongs to no database. In 18 a read has one block or more, and read_bytes says how many; before, each
-- has op_bytes.
-- Reads: pg_stat_io. Since: 16. Privilege: none. Cost: about a hundred rows, under a millisecond.
SELECT coalesce(sum(r.bytes), 0)::float8 / current_setting('block_size')::float8 AS read,
       coalesce(sum(r.read_time), 0)::float8 / 1000::float8 AS read_seconds,
       coalesce(sum(r.bytes) FILTER (WHERE r.scan), 0)::float8 / current_setting('block_size')::float8 AS scanned,
       coalesce(sum(r.read_time) FILTER (WHERE r.scan), 0)::float8 / 1000::float8 AS scan_seconds
  FROM (SELECT i.context IN ('bulkread', 'vacuum') AS scan,
               i.read_time,
               coalesce((to_jsonb(i) ->> 'read_bytes')::float8,
                        i.reads::float8 * (to_jsonb(i) ->> 'op_bytes')::float8) AS bytes
          FROM pg_catalog.pg_stat_io AS i
         WHERE i.object <> 'wal'
           AND i.backend_type <> 'startup') AS r
