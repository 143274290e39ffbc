-- The distributed table of a table that is one of its shards, with the shard's number, or that is one itself (no number).
-- extension_schema stands for the schema of Citus' catalog.
-- Reads: Citus' pg_dist_shard, pg_class, pg_namespace. Since: 14. Privilege: SELECT on it, which all users have. Cost:
-- one scan of it.
SELECT DISTINCT quote_ident(n.nspname) || '.' || quote_ident(o.relname) AS owner,
       CASE WHEN o.oid = t.oid THEN NULL ELSE s.shardid END AS shard
  FROM pg_catalog.pg_class AS t
  JOIN pg_catalog.pg_class AS o ON o.relnamespace = t.relnamespace
  JOIN pg_catalog.pg_namespace AS n ON n.oid = o.relnamespace
  JOIN extension_schema.pg_dist_shard AS s ON s.logicalrelid::oid = o.oid
 WHERE t.oid = %(table)s::bigint::oid
   AND (o.oid = t.oid OR t.relname::text = o.relname::text || '_' || s.shardid::text)
 LIMIT 1
