-- Everything about one table that decides whether it can be split into partitions, and from which its statements are made,
-- as one document. Definitions are the server's own texts, with every name qualified.
-- Reads: pg_class, pg_attribute, pg_attrdef, pg_constraint, pg_index, pg_inherits, pg_policy, pg_depend, pg_sequence,
-- pg_statistic_ext, pg_stats, pg_publication, pg_subscription_rel, pg_replication_slots, pg_description,
-- pg_stat_all_tables, pg_am, pg_extension, pg_namespace, pg_rewrite, pg_seclabel, pg_stat_database, pg_subscription,
-- pg_trigger, pg_type. Since: 14. Privilege: none. Cost: some milliseconds.
WITH t AS (
    SELECT c.*, n.nspname
      FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = (parse_ident(%(key)s))[1] AND c.relname = (parse_ident(%(key)s))[2]
), own_constraints AS (
    SELECT n.* FROM t JOIN pg_catalog.pg_constraint AS n ON n.conrelid = t.oid
), sequences AS (
    SELECT d.deptype, a.attname, q.relname, qn.nspname, q.oid, s.*, q.relacl, q.relowner
      FROM t
      JOIN pg_catalog.pg_depend AS d
        ON d.refclassid = 'pg_class'::regclass::oid AND d.refobjid = t.oid AND d.classid = 'pg_class'::regclass::oid
       AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0
      JOIN pg_catalog.pg_sequence AS s ON s.seqrelid = d.objid
      JOIN pg_catalog.pg_class AS q ON q.oid = d.objid
      JOIN pg_catalog.pg_namespace AS qn ON qn.oid = q.relnamespace
      JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
), of_the_table AS ( -- what depends on it and goes with it: parts of the table that every split knows
    SELECT 'pg_class'::regclass::oid AS classid, i.indexrelid AS objid FROM t JOIN pg_catalog.pg_index AS i ON i.indrelid = t.oid
    UNION ALL SELECT 'pg_class'::regclass::oid, t.oid FROM t -- 14 notes so a generated column that is computed of another
    UNION ALL SELECT 'pg_class'::regclass::oid, t.reltoastrelid FROM t
    UNION ALL SELECT 'pg_class'::regclass::oid, q.oid FROM sequences AS q
    UNION ALL SELECT 'pg_type'::regclass::oid, t.reltype FROM t
    UNION ALL SELECT 'pg_type'::regclass::oid, y.typarray FROM t JOIN pg_catalog.pg_type AS y ON y.oid = t.reltype
    UNION ALL SELECT 'pg_constraint'::regclass::oid, n.oid FROM own_constraints AS n
    UNION ALL SELECT 'pg_attrdef'::regclass::oid, d.oid FROM t JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = t.oid
    UNION ALL SELECT 'pg_policy'::regclass::oid, p.oid FROM t JOIN pg_catalog.pg_policy AS p ON p.polrelid = t.oid
    -- Internal triggers enforce foreign keys, which are judged as constraints.
    UNION ALL SELECT 'pg_trigger'::regclass::oid, g.oid
                FROM t JOIN pg_catalog.pg_trigger AS g ON g.tgrelid = t.oid AND g.tgisinternal
), dependents AS (
    SELECT DISTINCT d.classid, d.objid, pg_describe_object(d.classid, d.objid, 0) AS what
      FROM t
      JOIN pg_catalog.pg_depend AS d
        ON (d.refclassid = 'pg_class'::regclass::oid AND d.refobjid = t.oid
            OR d.refclassid = 'pg_type'::regclass::oid
               AND d.refobjid IN (SELECT o.objid FROM of_the_table AS o WHERE o.classid = 'pg_type'::regclass::oid)
            OR d.refclassid = 'pg_constraint'::regclass::oid AND d.refobjid IN (SELECT n.oid FROM own_constraints AS n))
     WHERE NOT EXISTS (SELECT FROM of_the_table AS o WHERE o.classid = d.classid AND o.objid = d.objid)
)
SELECT jsonb_build_object(
    'oid', t.oid::bigint, 'schema_', t.nspname, 'name', t.relname, 'owner', pg_get_userbyid(t.relowner),
    'kind', t.relkind, 'persistence', t.relpersistence, 'partition', t.relispartition,
    'typed', t.reloftype <> 0::oid,
    'inherits', EXISTS (SELECT FROM pg_catalog.pg_inherits AS h WHERE t.oid IN (h.inhrelid, h.inhparent)),
    'rules', ARRAY(SELECT r.rulename FROM pg_catalog.pg_rewrite AS r WHERE r.ev_class = t.oid ORDER BY 1),
    'triggers', ARRAY(SELECT g.tgname FROM pg_catalog.pg_trigger AS g
                       WHERE g.tgrelid = t.oid AND NOT g.tgisinternal ORDER BY 1),
    'unheld_keys', ARRAY(SELECT DISTINCT n.conname FROM pg_catalog.pg_trigger AS g
                          JOIN pg_catalog.pg_constraint AS n ON n.oid = g.tgconstraint
                         WHERE g.tgrelid = t.oid AND g.tgisinternal AND g.tgenabled <> 'O' ORDER BY 1),
    'publications', ARRAY(SELECT p.pubname FROM pg_catalog.pg_publication AS p
                           JOIN LATERAL pg_get_publication_tables(p.pubname::text) AS m ON m.relid = t.oid ORDER BY 1),
    'subscriptions', ARRAY(SELECT u.subname FROM pg_catalog.pg_subscription_rel AS s
                            JOIN pg_catalog.pg_subscription AS u ON u.oid = s.srsubid WHERE s.srrelid = t.oid ORDER BY 1),
    -- That of the server's own replication gets what is published, and nothing else.
    'readers', ARRAY(SELECT s.slot_name::text || ' by ' || s.plugin::text FROM pg_catalog.pg_replication_slots AS s
                      WHERE s.slot_type = 'logical' AND s.plugin <> 'pgoutput' AND s.database = current_database() ORDER BY 1),
    'incoming_keys', ARRAY(SELECT n.conname::text || ' of ' || n.conrelid::regclass::text FROM pg_catalog.pg_constraint AS n
                            WHERE n.confrelid = t.oid AND n.contype = 'f' ORDER BY 1),
    'dependents', ARRAY(SELECT d.what FROM dependents AS d
                         WHERE d.classid NOT IN ('pg_trigger'::regclass::oid, 'pg_publication_rel'::regclass::oid,
                                                 'pg_statistic_ext'::regclass::oid)
                         ORDER BY 1),
    'extension', (SELECT e.extname FROM pg_catalog.pg_depend AS d
                    JOIN pg_catalog.pg_extension AS e ON e.oid = d.refobjid
                   WHERE d.classid = 'pg_class'::regclass::oid AND d.objid = t.oid AND d.deptype = 'e'),
    'statistics', ARRAY(SELECT x.stxname FROM pg_catalog.pg_statistic_ext AS x WHERE x.stxrelid = t.oid ORDER BY 1),
    -- What the planner calls to fold constants, with the rights of whoever reads the table: nothing of the server's own is
    -- in pg_depend.
    'foreign_code', ARRAY(SELECT DISTINCT pg_describe_object(d.refclassid, d.refobjid, 0) FROM pg_catalog.pg_depend AS d
                           WHERE d.refclassid IN ('pg_proc'::regclass::oid, 'pg_operator'::regclass::oid)
                             AND (d.classid, d.objid) IN (
                                 SELECT 'pg_class'::regclass::oid, i.indexrelid FROM pg_catalog.pg_index AS i
                                  WHERE i.indrelid = t.oid
                                 UNION ALL SELECT 'pg_constraint'::regclass::oid, n.oid FROM own_constraints AS n
                                 UNION ALL SELECT 'pg_statistic_ext'::regclass::oid, x.oid
                                             FROM pg_catalog.pg_statistic_ext AS x WHERE x.stxrelid = t.oid)
                           ORDER BY 1),
    'labels', EXISTS (SELECT FROM pg_catalog.pg_seclabel AS l WHERE l.classoid = 'pg_class'::regclass::oid AND l.objoid = t.oid),
    'replica_identity', t.relreplident,
    'row_security', t.relrowsecurity, 'forced_row_security', t.relforcerowsecurity,
    'options', coalesce(t.reloptions, '{}'::text[]),
    'toast_options', coalesce((SELECT o.reloptions FROM pg_catalog.pg_class AS o WHERE o.oid = t.reltoastrelid), '{}'),
    'access_method', (SELECT m.amname FROM pg_catalog.pg_am AS m WHERE m.oid = t.relam),
    'comment', obj_description(t.oid, 'pg_class'),
    'bytes', pg_total_relation_size(t.oid), 'heap_bytes', pg_table_size(t.oid),
    'granted', t.relacl IS NOT NULL,
    'grants', coalesce((SELECT jsonb_agg(jsonb_build_object(
                  'grantor', pg_get_userbyid(p.grantor), 'grantee', CASE WHEN p.grantee <> 0::oid THEN pg_get_userbyid(p.grantee) END,
                  'privilege', p.privilege_type, 'grantable', p.is_grantable, 'column', p.attname)
                  ORDER BY p.attnum, p.grantee, p.privilege_type)
        FROM (SELECT e.*, NULL::name AS attname, 0 AS attnum FROM aclexplode(t.relacl) AS e
              UNION ALL
              SELECT e.*, a.attname, a.attnum FROM pg_catalog.pg_attribute AS a, aclexplode(a.attacl) AS e
               WHERE a.attrelid = t.oid AND NOT a.attisdropped) AS p), '[]'),
    'columns', (SELECT jsonb_agg(jsonb_build_object(
                  'number', a.attnum, 'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
                  'built_in', EXISTS (SELECT FROM pg_catalog.pg_type AS y
                                       WHERE y.oid = a.atttypid AND y.typnamespace = 'pg_catalog'::regnamespace::oid),
                  'not_null', a.attnotnull, 'identity', a.attidentity, 'generated', a.attgenerated,
                  'statistics', CASE WHEN a.attstattarget >= 0 THEN a.attstattarget END,
                  'options', ARRAY(SELECT o FROM unnest(a.attoptions) AS o WHERE o !~ '^pg_'),
                  'analyzed', EXISTS (SELECT FROM pg_catalog.pg_stats AS s
                                       WHERE s.schemaname = t.nspname AND s.tablename = t.relname
                                         AND s.attname = a.attname AND NOT s.inherited)) ORDER BY a.attnum)
        FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped),
    'constraints', coalesce((SELECT jsonb_agg(jsonb_build_object(
                  'name', n.conname, 'type', n.contype, 'definition', pg_get_constraintdef(n.oid),
                  'valid', n.convalidated, 'no_inherit', n.connoinherit, 'comment', obj_description(n.oid, 'pg_constraint'))
                  ORDER BY n.conname) FROM own_constraints AS n WHERE n.contype <> 't'), '[]'),
    'indexes', coalesce((SELECT jsonb_agg(jsonb_build_object(
                  'name', ic.relname, 'definition', pg_get_indexdef(i.indexrelid), 'unique', i.indisunique,
                  'valid', i.indisvalid AND i.indisready, 'replica_identity', i.indisreplident,
                  'key', (SELECT array_agg(k.number) FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, at)
                           WHERE k.at <= i.indnkeyatts),
                  'constraint', n.conname, 'constraint_definition', pg_get_constraintdef(n.oid),
                  'bytes', pg_relation_size(i.indexrelid), 'options', coalesce(ic.reloptions, '{}'::text[]),
                  'statistics', EXISTS (SELECT FROM pg_catalog.pg_attribute AS a
                                         WHERE a.attrelid = i.indexrelid AND a.attstattarget >= 0),
                  'comment', obj_description(i.indexrelid, 'pg_class'),
                  'constraint_comment', obj_description(n.oid, 'pg_constraint')) ORDER BY ic.relname)
        FROM pg_catalog.pg_index AS i
        JOIN pg_catalog.pg_class AS ic ON ic.oid = i.indexrelid
        LEFT JOIN pg_catalog.pg_constraint AS n ON n.conindid = i.indexrelid AND n.conrelid = t.oid AND n.contype IN ('p', 'u', 'x')
       WHERE i.indrelid = t.oid), '[]'),
    'policies', coalesce((SELECT jsonb_agg(jsonb_build_object(
                  'name', p.polname, 'permissive', p.polpermissive, 'command', p.polcmd,
                  'roles', ARRAY(SELECT CASE WHEN r <> 0::oid THEN pg_get_userbyid(r) END
                                   FROM unnest(p.polroles) AS r),
                  'using', pg_get_expr(p.polqual, p.polrelid), 'check', pg_get_expr(p.polwithcheck, p.polrelid),
                  'comment', obj_description(p.oid, 'pg_policy')) ORDER BY p.polname)
        FROM pg_catalog.pg_policy AS p WHERE p.polrelid = t.oid), '[]'),
    'sequences', coalesce((SELECT jsonb_agg(jsonb_build_object(
                  'column', q.attname, 'schema_', q.nspname, 'name', q.relname, 'identity', q.deptype = 'i',
                  'type', q.seqtypid::regtype, 'start', q.seqstart, 'increment', q.seqincrement, 'least', q.seqmin,
                  'most', q.seqmax, 'cache', q.seqcache, 'cycle', q.seqcycle,
                  'last', CASE WHEN has_sequence_privilege(q.oid, 'USAGE, SELECT') THEN pg_sequence_last_value(q.oid) END,
                  'granted', q.relacl IS NOT NULL,
                  'grants', coalesce((SELECT jsonb_agg(jsonb_build_object(
                      'grantor', pg_get_userbyid(p.grantor), 'grantee', CASE WHEN p.grantee <> 0::oid THEN pg_get_userbyid(p.grantee) END,
                      'privilege', p.privilege_type, 'grantable', p.is_grantable, 'column', NULL)
                      ORDER BY p.grantee, p.privilege_type) FROM aclexplode(q.relacl) AS p), '[]'),
                  'used_elsewhere', EXISTS (SELECT FROM pg_catalog.pg_depend AS d
                      LEFT JOIN pg_catalog.pg_attrdef AS f ON d.classid = 'pg_attrdef'::regclass::oid AND f.oid = d.objid
                     WHERE d.refclassid = 'pg_class'::regclass::oid AND d.refobjid = q.oid
                       AND f.adrelid IS DISTINCT FROM t.oid),
                  'comment', obj_description(q.oid, 'pg_class')) ORDER BY q.attname)
        FROM sequences AS q), '[]'),
    -- Since the counters began; a standby of them says nothing, and a reset makes them young.
    'inserts_per_second', (SELECT i.n_tup_ins::float8 / greatest(1.0, extract(epoch FROM clock_timestamp() - coalesce(
                                      d.stats_reset, pg_postmaster_start_time())))::float8
                             FROM pg_catalog.pg_stat_all_tables AS i, pg_catalog.pg_stat_database AS d
                            WHERE i.relid = t.oid AND d.datname = current_database()),
    -- A table may not have the name of a type either.
    'taken', ARRAY(SELECT c.relname FROM pg_catalog.pg_class AS c WHERE c.relnamespace = t.relnamespace
                      AND c.relname ~ '_p[0-9]+$'
                   UNION SELECT y.typname FROM pg_catalog.pg_type AS y WHERE y.typnamespace = t.relnamespace
                      AND y.typname ~ '_p[0-9]+$' ORDER BY 1)
) AS facts
  FROM t
