-- A partitioned table and its partitions, one row each (one row with nulls where it has none), by the end of their ranges.
-- Reads: pg_partitioned_table, pg_inherits, pg_class, pg_tablespace, pg_attribute, pg_database, pg_locks, pg_namespace.
-- Since: 14. Privilege: none.
-- Cost: a few milliseconds; the size of each partition is read from the file system.
SELECT n.nspname AS schema,
       t.relname AS name,
       pg_get_userbyid(t.relowner) AS owner,
       p.partstrat::text AS strategy,
       p.partnatts::int AS columns,
       coalesce(a.atttypid::regtype::text, '') AS type,
       p.partdefid <> 0::oid AS has_default,
       (SELECT has_tablespace_privilege(t.relowner, s.oid, 'CREATE') OR s.oid = d.dattablespace
          FROM pg_catalog.pg_tablespace AS s WHERE s.spcname = %(space)s) AS may_create,
       c.oid::bigint AS partition,
       cn.nspname AS partition_schema,
       c.relname AS partition_name,
       quote_ident(cn.nspname) || '.' || quote_ident(c.relname) AS key,
       c.relkind::text AS kind,
       pg_get_expr(c.relpartbound, c.oid) AS bound,
       home.spcname AS space,
       CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_locks AS l
                          WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.relation = c.oid)
            THEN (c.relpages::bigint & 4294967295) * current_setting('block_size')::bigint
            ELSE pg_table_size(c.oid) END AS bytes,
       c.relreplident::text AS identity
  FROM pg_catalog.pg_class AS t
  JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
  JOIN pg_catalog.pg_partitioned_table AS p ON p.partrelid = t.oid
  JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
  -- Attribute 0 is an expression: it has no column's type.
  LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = p.partattrs[0] AND a.attnum > 0
  LEFT JOIN pg_catalog.pg_inherits AS i ON i.inhparent = t.oid AND NOT i.inhdetachpending
  LEFT JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
  LEFT JOIN pg_catalog.pg_namespace AS cn ON cn.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_tablespace AS home ON home.oid = coalesce(nullif(c.reltablespace, 0::oid), d.dattablespace)
 WHERE n.nspname = (parse_ident(%(key)s))[1]
   AND t.relname = (parse_ident(%(key)s))[2]
