-- Extensions in this database that make and move tables of their own, with the schema of the catalog that says which. It
-- is the extension's own catalog and no other table of that name. by_oid: it names relations by their oid, as TimescaleDB
-- does since 2.29.
-- Reads: pg_extension, pg_depend, pg_class, pg_namespace, pg_attribute. Since: 14. Privilege: none. Cost: a millisecond.
SELECT e.extname AS extension, quote_ident(n.nspname) AS schema, e.extversion AS version,
       EXISTS (SELECT FROM pg_catalog.pg_attribute AS a
                WHERE a.attrelid = c.oid AND a.attname = 'relid' AND NOT a.attisdropped) AS by_oid
  FROM pg_catalog.pg_extension AS e
  JOIN pg_catalog.pg_depend AS d
    ON d.refclassid = 'pg_catalog.pg_extension'::regclass::oid AND d.refobjid = e.oid
   AND d.classid = 'pg_catalog.pg_class'::regclass::oid AND d.deptype = 'e'
  JOIN pg_catalog.pg_class AS c ON c.oid = d.objid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
 WHERE (e.extname, c.relname) IN (('timescaledb', 'chunk'), ('citus', 'pg_dist_shard'))
 ORDER BY 1
