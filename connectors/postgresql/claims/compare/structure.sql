-- What every relation of the scratch schema is, but where it lies: columns, constraints, indexes, triggers, policies,
-- options, comments, statistics that were asked for, partitions.
-- Reads: pg_class, pg_attribute, pg_attrdef, pg_constraint, pg_index, pg_trigger, pg_policy, pg_statistic_ext,
-- pg_inherits, pg_description. Since: 14. Privilege: none. Cost: some milliseconds.
WITH mine AS (
    SELECT c.oid, c.relname, c.relkind, c.relpersistence, c.reloptions, c.relowner, c.relreplident, c.relrowsecurity,
           c.relforcerowsecurity, c.relispartition, c.relam, c.reltoastrelid <> 0 AS toast, c.relpartbound
      FROM pg_catalog.pg_class AS c
     WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = {literal})
)
SELECT 'relation ' || m.relname,
       concat_ws(' ', m.relkind, m.relpersistence, m.reloptions::text, m.relowner::regrole, m.relreplident,
                 m.relrowsecurity, m.relforcerowsecurity, m.relispartition, a.amname, m.toast,
                 pg_get_expr(m.relpartbound, m.oid), obj_description(m.oid, 'pg_class'),
                 (SELECT string_agg(inh.inhparent::regclass::text, ',')
                    FROM pg_catalog.pg_inherits AS inh WHERE inh.inhrelid = m.oid))
  FROM mine AS m
  LEFT JOIN pg_catalog.pg_am AS a ON a.oid = m.relam
UNION ALL
SELECT 'column ' || m.relname || '.' || at.attname,
       concat_ws(' ', at.attnum, format_type(at.atttypid, at.atttypmod), at.attnotnull, at.attidentity, at.attgenerated,
                 at.attstorage, at.attstattarget, at.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid))
  FROM mine AS m
  JOIN pg_catalog.pg_attribute AS at ON at.attrelid = m.oid AND at.attnum > 0
  LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = m.oid AND d.adnum = at.attnum
UNION ALL
SELECT 'constraint ' || m.relname || '.' || k.conname, pg_get_constraintdef(k.oid)
  FROM mine AS m
  JOIN pg_catalog.pg_constraint AS k ON k.conrelid = m.oid
UNION ALL
SELECT 'index ' || m.relname,
       concat_ws(' ', pg_get_indexdef(x.indexrelid), x.indisunique, x.indisprimary, x.indisexclusion, x.indisclustered,
                 x.indisreplident, x.indimmediate)
  FROM mine AS m
  JOIN pg_catalog.pg_index AS x ON x.indexrelid = m.oid
UNION ALL
SELECT 'trigger ' || m.relname || '.' || t.tgname, concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled)
  FROM mine AS m
  JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = m.oid AND NOT t.tgisinternal
UNION ALL
SELECT 'policy ' || m.relname || '.' || p.polname,
       concat_ws(' ', p.polcmd, p.polpermissive, p.polroles::text, pg_get_expr(p.polqual, p.polrelid),
                 pg_get_expr(p.polwithcheck, p.polrelid))
  FROM mine AS m
  JOIN pg_catalog.pg_policy AS p ON p.polrelid = m.oid
UNION ALL
SELECT 'statistics ' || s.stxname, pg_get_statisticsobjdef(s.oid)
  FROM mine AS m
  JOIN pg_catalog.pg_statistic_ext AS s ON s.stxrelid = m.oid
