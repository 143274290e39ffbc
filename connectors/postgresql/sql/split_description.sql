-- A table as its users know it: columns, defaults, keys, indexes, privileges, policies, comments. The same text for a plain
-- table and for the partitioned one that takes its place: how and where rows are stored is no part of it, nor are the names
-- that only the server knows. Lines in a fixed order; $1: the table's oid, $2: a constraint that is left out.
-- Reads: pg_class, pg_attribute, pg_constraint, pg_index, pg_policy, pg_trigger, pg_rewrite, pg_publication,
-- pg_subscription_rel, pg_sequence, pg_depend, pg_description, pg_attrdef, pg_type. Since: 14.
-- Privilege: none. Cost: a few milliseconds. Part of a step of a split: it runs in that step's transaction.
-- Options of columns without those that the server keeps for itself: late minor releases note a version in pg_attver (seen
-- on 15.20), which every table has its own of.
SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C")
  FROM (
    SELECT concat_ws(' ', 'table', c.relowner::regrole, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity,
                     c.relreplident, obj_description(c.oid, 'pg_class')) AS line
      FROM pg_catalog.pg_class AS c WHERE c.oid = $1
    UNION ALL
    SELECT concat_ws(' ', 'grant', p.grantor, p.grantee, p.privilege_type, p.is_grantable)
      FROM pg_catalog.pg_class AS c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) AS p WHERE c.oid = $1
    UNION ALL
    SELECT concat_ws(' ', 'column', row_number() OVER (ORDER BY a.attnum), quote_ident(a.attname),
                     format_type(a.atttypid, a.atttypmod), a.attcollation, a.attnotnull, a.attidentity, a.attgenerated,
                     a.attstorage, nullif(a.attcompression, ''), coalesce(a.attstattarget, -1),
                     (SELECT array_agg(o ORDER BY o) FROM unnest(a.attoptions) AS o WHERE o !~ '^pg_'),
                     pg_get_expr(d.adbin, d.adrelid), col_description(a.attrelid, a.attnum))
      FROM pg_catalog.pg_attribute AS a
      LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT concat_ws(' ', 'grant', quote_ident(a.attname), p.grantor, p.grantee, p.privilege_type, p.is_grantable)
      FROM pg_catalog.pg_attribute AS a, aclexplode(a.attacl) AS p
     WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT concat_ws(' ', 'sequence', quote_ident(a.attname), d.deptype, d.objid::regclass, o.relowner::regrole,
                     s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle,
                     (SELECT string_agg(concat_ws(' ', p.grantee, p.privilege_type, p.is_grantable), ','
                                        ORDER BY p.grantee, p.privilege_type)
                        FROM aclexplode(coalesce(o.relacl, acldefault('s', o.relowner))) AS p),
                     obj_description(o.oid, 'pg_class'))
      FROM pg_catalog.pg_depend AS d
      JOIN pg_catalog.pg_sequence AS s ON s.seqrelid = d.objid
      JOIN pg_catalog.pg_class AS o ON o.oid = d.objid
      JOIN pg_catalog.pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
     WHERE d.classid = 'pg_class'::regclass::oid AND d.refclassid = 'pg_class'::regclass::oid
       AND d.refobjid = $1 AND d.deptype IN ('a', 'i')
    UNION ALL
    SELECT concat_ws(' ', 'constraint', quote_ident(n.conname), n.contype, n.convalidated, n.condeferrable, n.condeferred,
                     pg_get_constraintdef(n.oid), obj_description(n.oid, 'pg_constraint'))
      FROM pg_catalog.pg_constraint AS n WHERE n.conrelid = $1 AND n.conname <> $2 AND n.contype <> 't'
    UNION ALL
    SELECT concat_ws(' ', 'index', i.indisvalid, i.indisreplident,
                     replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON '), obj_description(i.indexrelid, 'pg_class'))
      FROM pg_catalog.pg_index AS i WHERE i.indrelid = $1
    UNION ALL
    SELECT concat_ws(' ', 'policy', quote_ident(p.polname), p.polpermissive, p.polcmd, p.polroles,
                     pg_get_expr(p.polqual, p.polrelid), '/', pg_get_expr(p.polwithcheck, p.polrelid),
                     obj_description(p.oid, 'pg_policy'))
      FROM pg_catalog.pg_policy AS p WHERE p.polrelid = $1
    UNION ALL
    SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid)) FROM pg_catalog.pg_trigger AS t
     WHERE t.tgrelid = $1 AND NOT t.tgisinternal
    UNION ALL
    -- Those that the server has made hold foreign keys: one that was switched off does not.
    SELECT concat_ws(' ', 'foreign key', quote_ident(n.conname), t.tgenabled)
      FROM pg_catalog.pg_trigger AS t
      JOIN pg_catalog.pg_constraint AS n ON n.oid = t.tgconstraint
     WHERE t.tgrelid = $1 AND t.tgisinternal AND t.tgenabled <> 'O'
    UNION ALL
    SELECT concat_ws(' ', 'rule', pg_get_ruledef(r.oid)) FROM pg_catalog.pg_rewrite AS r WHERE r.ev_class = $1
    UNION ALL
    -- By what subscribers get: one of all tables or of a schema publishes parts under their own names, unless by the root.
    SELECT concat_ws(' ', 'published', p.oid)
      FROM pg_catalog.pg_publication AS p
      JOIN LATERAL pg_get_publication_tables(p.pubname::text) AS m ON m.relid = $1
    UNION ALL
    SELECT concat_ws(' ', 'subscribed', s.srsubid) FROM pg_catalog.pg_subscription_rel AS s WHERE s.srrelid = $1
    UNION ALL
    -- What depends on it follows its oid and not its name: on a cold part it would miss all rows of the hot one.
    SELECT concat_ws(' ', 'referred to by', quote_ident(n.conname), n.conrelid::regclass)
      FROM pg_catalog.pg_constraint AS n WHERE n.confrelid = $1 AND n.contype = 'f' AND n.conparentid = 0::oid
    UNION ALL
    SELECT concat_ws(' ', 'needed by', pg_describe_object(d.classid, d.objid, 0))
      FROM (SELECT DISTINCT e.classid, e.objid, e.refclassid
              FROM pg_catalog.pg_class AS c
              JOIN pg_catalog.pg_type AS y ON y.oid = c.reltype
             CROSS JOIN LATERAL (VALUES ('pg_class'::regclass::oid, c.oid), ('pg_type'::regclass::oid, y.oid),
                                        ('pg_type'::regclass::oid, y.typarray)) AS r (classid, oid)
              JOIN pg_catalog.pg_depend AS e ON e.refclassid = r.classid AND e.refobjid = r.oid
             WHERE c.oid = $1) AS d
     WHERE d.classid IN ('pg_rewrite'::regclass::oid, 'pg_proc'::regclass::oid, 'pg_statistic_ext'::regclass::oid)
        OR d.classid = 'pg_policy'::regclass::oid
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_policy AS p WHERE p.oid = d.objid AND p.polrelid = $1)
        -- Parts, indexes and sequences depend on the table, columns of its type on that.
        OR d.refclassid = 'pg_type'::regclass::oid
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_type AS y WHERE d.classid = d.refclassid AND y.oid = d.objid
                              AND y.typelem <> 0::oid)
  ) AS lines
