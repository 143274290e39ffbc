-- Which blocks of some relations are in the buffer pool, as packed numbers of eight bytes each, rising.
-- extension_schema stands for the schema that the extension is in: it is on no path.
-- Reads: pg_buffercache, pg_class, pg_stat_get_blocks_*, pg_database. Since: 14.
-- Privilege: pg_monitor. Cost: 0.3 to 0.5 us per buffer of the pool, whichever relations are asked for: it is read
-- buffer by buffer, each under a lock of its own for an instant since 10. The buffers' rows take work_mem and then a
-- temporary file: some 60 bytes each.
WITH wanted AS MATERIALIZED (
SELECT c.oid,
       pg_relation_filenode(c.oid) AS filenode,
       CASE WHEN c.reltablespace = 0::oid THEN d.dattablespace ELSE c.reltablespace END AS tablespace,
       d.oid AS database,
       pg_relation_size(c.oid, 'main') / current_setting('block_size')::bigint AS blocks,
       pg_stat_get_blocks_fetched(c.oid) - pg_stat_get_blocks_hit(c.oid) AS reads
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
 WHERE c.oid = ANY (%(units)s::oid[])
)
SELECT w.oid::bigint AS id, w.blocks, w.reads, w.filenode::bigint AS storage,
       string_agg(int8send(b.relblocknumber), ''::bytea ORDER BY b.relblocknumber) AS resident
  FROM wanted AS w
  LEFT JOIN extension_schema.pg_buffercache AS b
    ON b.relfilenode = w.filenode AND b.reltablespace = w.tablespace AND b.reldatabase = w.database
   AND b.relforknumber = 0::int2
   AND hashint8(b.relblocknumber) & (%(one_in)s::integer - 1) = 0 -- by a hash, so that no regular load falls through
 GROUP BY w.oid, w.blocks, w.reads, w.filenode
