-- A partitioned table and its part that has no end, one row (with nulls where it has none), each bound as the server writes it.
-- Reads: pg_partitioned_table, pg_inherits, pg_class, pg_attribute, pg_tablespace, pg_database, pg_namespace. Since: 14.
-- Privilege: none.
-- Cost: a few milliseconds.
SELECT p.partstrat::text AS strategy,
       p.partnatts::int AS columns,
       coalesce(a.attname, '') AS column_name,
       p.partdefid <> 0::oid AS has_default,
       c.nspname AS part_schema,
       c.relname AS part_name,
       c.named AS part,
       c.relkind::text AS kind,
       c.low AS low,
       home.spcname AS space
  FROM pg_catalog.pg_class AS t
  JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace
  JOIN pg_catalog.pg_partitioned_table AS p ON p.partrelid = t.oid
  JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
  -- Attribute 0 is an expression: it has no name.
  LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = p.partattrs[0] AND a.attnum > 0
  LEFT JOIN LATERAL (
      SELECT x.relname, x.relkind, x.reltablespace, xn.nspname, quote_ident(xn.nspname) || '.' || quote_ident(x.relname) AS named,
             substring(pg_get_expr(x.relpartbound, x.oid) FROM '^FOR VALUES FROM \((.*)\) TO \(MAXVALUE\)$') AS low
        FROM pg_catalog.pg_inherits AS i
        JOIN pg_catalog.pg_class AS x ON x.oid = i.inhrelid
        JOIN pg_catalog.pg_namespace AS xn ON xn.oid = x.relnamespace
       WHERE i.inhparent = t.oid AND NOT i.inhdetachpending
  ) AS c ON c.low IS NOT NULL
  LEFT JOIN pg_catalog.pg_tablespace AS home ON home.oid = coalesce(nullif(c.reltablespace, 0::oid), d.dattablespace)
 WHERE n.nspname = (parse_ident(%(key)s))[1]
   AND t.relname = (parse_ident(%(key)s))[2]
