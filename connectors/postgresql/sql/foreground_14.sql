-- As foreground.sql, of servers without pg_stat_io: all reads of this database through shared buffers, which are those
-- of an index that is being built, too; the copy of a table does not go through them.
-- Reads: pg_stat_database. Since: 14. Privilege: none. Cost: one row.
SELECT coalesce(d.blks_read, 0)::float8 AS read,
       coalesce(d.blk_read_time, 0)::float8 / 1000::float8 AS read_seconds,
       current_setting('track_io_timing')::boolean AS timing
  FROM pg_catalog.pg_stat_database AS d
 WHERE d.datname = current_database()
