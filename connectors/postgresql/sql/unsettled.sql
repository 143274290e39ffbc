-- Indexes whose counters may still become those of another index: what is being built by REINDEX CONCURRENTLY, which is
-- given the counters of the index that it replaces at the end, and all indexes of a table on which one is built or was
-- left unfinished, because version 14 reports the counters that it has copied only when the command has ended.
-- Reads: pg_index, pg_class, pg_stat_progress_create_index. Since: 14. Privilege: none. Cost: one scan of pg_index.
SELECT i.indexrelid::bigint AS index
  FROM pg_catalog.pg_index AS i
 WHERE i.indexrelid >= 16384::oid
   AND (NOT i.indisvalid
        OR i.indrelid IN (SELECT o.indrelid FROM pg_catalog.pg_index AS o
                            JOIN pg_catalog.pg_class AS c ON c.oid = o.indexrelid
                           WHERE NOT o.indisvalid AND c.relname ~ '_cc(new|old)[0-9]*$')
        OR i.indrelid IN (SELECT b.relid FROM pg_catalog.pg_stat_progress_create_index AS b))
 ORDER BY 1
