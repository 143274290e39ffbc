-- Whether the extension pg_buffercache is in this database, in which schema, and whether this login may read it; the size of
-- a block and of the buffer pool. The view is the extension's own and no other of that name.
-- Reads: pg_extension, pg_depend, pg_class, pg_available_extensions, pg_settings, pg_namespace. Since: 14. Privilege:
-- none. Cost: a millisecond.
SELECT coalesce(quote_ident(n.nspname), '') AS schema,
       coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(v.oid, 'SELECT'), false) AS may,
       EXISTS (SELECT FROM pg_catalog.pg_available_extensions AS a WHERE a.name = 'pg_buffercache') AS available,
       quote_ident(current_user) AS login,
       current_setting('block_size')::bigint AS block_bytes,
       (SELECT s.setting::bigint FROM pg_catalog.pg_settings AS s WHERE s.name = 'shared_buffers') AS buffers
  FROM (VALUES (1)) AS one
  LEFT JOIN pg_catalog.pg_extension AS e ON e.extname = 'pg_buffercache'
  LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
  LEFT JOIN pg_catalog.pg_class AS v
    ON v.relnamespace = e.extnamespace
   AND v.relname = 'pg_buffercache'
   AND EXISTS (SELECT FROM pg_catalog.pg_depend AS d
                WHERE d.classid = 'pg_catalog.pg_class'::regclass::oid AND d.objid = v.oid AND d.deptype = 'e'
                  AND d.refclassid = 'pg_catalog.pg_extension'::regclass::oid AND d.refobjid = e.oid)
