-- Columns of one table by whose ranges it could be split: numbers, dates and times, whether a key begins with them, and
-- how far their values lie in the order of the file.
-- foreign_code: what the planner would call, with this login's rights, to fold constants of its indexes, constraints and
-- statistics; nothing of the server's own is in pg_depend. Policies are never called: row_security is off.
-- Reads: pg_class, pg_attribute, pg_index, pg_partitioned_table, pg_inherits, pg_stats, pg_depend, pg_constraint,
-- pg_namespace, pg_roles, pg_statistic_ext. Since: 14.
-- Privilege: none; correlations are seen of columns that the login may read. Cost: milliseconds.
SELECT a.attname::text AS name,
       format_type(a.atttypid, a.atttypmod) AS type_name,
       a.atttypid IN ('date'::regtype::oid, 'timestamp'::regtype::oid, 'timestamptz'::regtype::oid) AS is_time,
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
       AND (NOT c.relrowsecurity OR r.rolbypassrls OR r.rolsuper)
       AND code.called IS NULL AS readable,
       n.nspname::text AS schema_name,
       c.relname::text AS table_name,
       code.called AS foreign_code
  FROM pg_catalog.pg_class AS c
  JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_catalog.pg_roles AS r ON r.rolname = current_user
  CROSS JOIN LATERAL (
      SELECT min(pg_describe_object(d.refclassid, d.refobjid, 0)) AS called
        FROM pg_catalog.pg_depend AS d
       WHERE d.refclassid IN ('pg_proc'::regclass::oid, 'pg_operator'::regclass::oid)
         AND (d.classid, d.objid) IN (
             SELECT 'pg_class'::regclass::oid, i.indexrelid FROM pg_catalog.pg_index AS i WHERE i.indrelid = c.oid
             UNION ALL SELECT 'pg_constraint'::regclass::oid, n.oid FROM pg_catalog.pg_constraint AS n WHERE n.conrelid = c.oid
             UNION ALL SELECT 'pg_statistic_ext'::regclass::oid, x.oid
                         FROM pg_catalog.pg_statistic_ext AS x WHERE x.stxrelid = c.oid)
  ) AS code
 WHERE c.oid = %(unit)s::bigint::oid
   AND c.relkind IN ('r', 'm')
   AND a.atttypid IN ('int2'::regtype::oid, 'int4'::regtype::oid, 'int8'::regtype::oid, 'numeric'::regtype::oid,
                      'date'::regtype::oid, 'timestamp'::regtype::oid, 'timestamptz'::regtype::oid)
 ORDER BY a.attnum
