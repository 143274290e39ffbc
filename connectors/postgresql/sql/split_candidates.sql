-- Columns of one table by whose ranges it could be split: numbers, dates and times, whether a key begins with them, and
-- how far their values lie in the order of the file.
-- Reads: pg_class, pg_attribute, pg_index, pg_partitioned_table, pg_inherits, pg_stats. Since: 14.
-- Privilege: none; correlations are seen of columns that the login may read. Cost: milliseconds.
SELECT a.attname::text AS name,
       format_type(a.atttypid, a.atttypmod) AS type_name,
       a.atttypid IN ('date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype) AS is_time,
       EXISTS (SELECT FROM pg_catalog.pg_index AS i
                WHERE i.indrelid = c.oid AND i.indisunique AND i.indpred IS NULL AND i.indkey[0] = a.attnum)
       OR EXISTS (SELECT FROM pg_catalog.pg_inherits AS h
                    JOIN pg_catalog.pg_partitioned_table AS p ON p.partrelid = h.inhparent
                    JOIN pg_catalog.pg_attribute AS k ON k.attrelid = p.partrelid AND k.attnum = p.partattrs[0]
                   WHERE h.inhrelid = c.oid AND k.attname = a.attname) AS is_key,
       NOT a.attnotnull AS nullable,
       (SELECT s.correlation::float8
          FROM pg_catalog.pg_stats AS s
         WHERE s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname
           AND NOT s.inherited) AS correlation,
       has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
       AND has_column_privilege(c.oid, 'ctid', 'SELECT') -- by which blocks are found
       AND (NOT c.relrowsecurity OR r.rolbypassrls OR r.rolsuper) AS readable,
       n.nspname::text AS schema_name,
       c.relname::text AS table_name
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_catalog.pg_roles AS r ON r.rolname = current_user
 WHERE c.oid = %(unit)s::bigint::oid
   AND c.relkind IN ('r', 'm')
   AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype,
                      'date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype)
 ORDER BY a.attnum
