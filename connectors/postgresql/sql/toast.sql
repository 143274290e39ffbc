-- Which TOAST table and TOAST index belongs to which table.
-- Reads: pg_class, pg_index. Since: 14. Privilege: none. Cost: about 50 ms for 50,000 tables.
COPY (
SELECT c.oid::bigint, c.reltoastrelid::bigint, i.indexrelid::bigint
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_index AS i ON i.indrelid = c.reltoastrelid
 WHERE c.oid >= 16384::oid
   AND c.reltoastrelid <> 0::oid
   AND c.relpersistence <> 't'
   -- A TOAST index that is being rebuilt exists twice.
   AND i.indisvalid
) TO STDOUT (FORMAT binary)
