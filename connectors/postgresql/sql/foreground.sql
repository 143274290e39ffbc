-- Reads of client sessions and the seconds that they took, in all databases of the server. Scans of tables larger than
-- a quarter of shared_buffers are left out, which what builds an index of such a table does; the copy of a table does
-- not go through shared buffers at all.
-- Reads: pg_stat_io. Since: 16. Privilege: none. Cost: about fifty rows.
SELECT coalesce(sum(i.reads), 0)::float8 AS read,
       coalesce(sum(i.read_time), 0)::float8 / 1000::float8 AS read_seconds,
       current_setting('track_io_timing')::boolean AS timing
  FROM pg_catalog.pg_stat_io AS i
 WHERE i.backend_type = 'client backend'
   AND i.context = 'normal'
