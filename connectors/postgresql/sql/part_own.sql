-- What one partition has that the whole has not, as one text: it would go where the partition goes. Null: nothing.
-- $1: the partition's oid, still attached. Storage options and where it lies are no part of what users see.
-- Reads: pg_index, pg_constraint, pg_trigger, pg_rewrite, pg_policy, pg_class, pg_attribute, pg_attrdef, pg_publication_rel,
-- pg_statistic_ext, pg_description, pg_seclabel, pg_inherits, pg_publication. Since: 14.
-- Privilege: none. Cost: a few milliseconds. Part of a step that drops a partition: it runs in that step's transaction.
SELECT string_agg(what, ', ' ORDER BY what COLLATE "C")
  FROM (
    SELECT 'index ' || c.relname::text AS what
      FROM pg_catalog.pg_index AS i
      JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
     WHERE i.indrelid = $1 AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS h WHERE h.inhrelid = i.indexrelid)
    UNION ALL
    SELECT 'constraint ' || n.conname::text
      FROM pg_catalog.pg_constraint AS n
     WHERE n.conrelid = $1 AND n.coninhcount = 0 AND n.conparentid = 0::oid AND n.contype <> 't'
    UNION ALL
    SELECT 'foreign key ' || n.conname::text || ' of ' || n.conrelid::regclass::text
      FROM pg_catalog.pg_constraint AS n
     WHERE n.confrelid = $1 AND n.contype = 'f' AND n.conparentid = 0::oid
    UNION ALL
    SELECT 'trigger ' || t.tgname::text
      FROM pg_catalog.pg_trigger AS t WHERE t.tgrelid = $1 AND NOT t.tgisinternal AND t.tgparentid = 0::oid
    UNION ALL
    SELECT 'rule ' || r.rulename::text FROM pg_catalog.pg_rewrite AS r WHERE r.ev_class = $1
    UNION ALL
    SELECT 'policy ' || p.polname::text FROM pg_catalog.pg_policy AS p WHERE p.polrelid = $1
    UNION ALL
    SELECT 'row security' FROM pg_catalog.pg_class AS c
     WHERE c.oid = $1 AND (c.relrowsecurity OR c.relforcerowsecurity)
    UNION ALL
    SELECT 'privileges'
      FROM pg_catalog.pg_class AS c
     WHERE c.oid = $1
       AND EXISTS (SELECT p.grantee, p.privilege_type, p.is_grantable FROM aclexplode(c.relacl) AS p
                   EXCEPT
                   (SELECT d.grantee, d.privilege_type, d.is_grantable FROM aclexplode(acldefault('r', c.relowner)) AS d
                    UNION ALL
                    SELECT w.grantee, w.privilege_type, w.is_grantable
                      FROM pg_catalog.pg_inherits AS h
                      JOIN pg_catalog.pg_class AS o ON o.oid = h.inhparent, aclexplode(o.relacl) AS w
                     WHERE h.inhrelid = $1))
    UNION ALL
    SELECT 'privileges of column ' || a.attname::text
      FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = $1 AND a.attacl IS NOT NULL AND NOT a.attisdropped
    UNION ALL
    SELECT 'default of column ' || a.attname::text
      FROM pg_catalog.pg_inherits AS h
      JOIN pg_catalog.pg_attribute AS a ON a.attrelid = h.inhrelid AND a.attnum > 0 AND NOT a.attisdropped
      JOIN pg_catalog.pg_attribute AS b ON b.attrelid = h.inhparent AND b.attname = a.attname
      LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      LEFT JOIN pg_catalog.pg_attrdef AS e ON e.adrelid = b.attrelid AND e.adnum = b.attnum
     WHERE h.inhrelid = $1
       AND pg_get_expr(d.adbin, d.adrelid) IS DISTINCT FROM pg_get_expr(e.adbin, e.adrelid)
    UNION ALL
    SELECT 'publication ' || p.pubname::text
      FROM pg_catalog.pg_publication_rel AS r
      JOIN pg_catalog.pg_publication AS p ON p.oid = r.prpubid
     WHERE r.prrelid = $1
    UNION ALL
    SELECT 'statistics ' || x.stxname::text FROM pg_catalog.pg_statistic_ext AS x WHERE x.stxrelid = $1
    UNION ALL
    SELECT DISTINCT 'comment' FROM pg_catalog.pg_description AS d
     WHERE d.classoid = 'pg_class'::regclass::oid AND d.objoid = $1
    UNION ALL
    SELECT DISTINCT 'security label' FROM pg_catalog.pg_seclabel AS l
     WHERE l.classoid = 'pg_class'::regclass::oid AND l.objoid = $1
  ) AS own
