-- What this login lacks to split one table, and to take that back: a word for each, the statement that gives it, and what that
-- gives away; and the owner and the table's quoted name. Number 1 are the rights of the owner.
-- Reads: pg_class, pg_namespace, pg_roles, pg_constraint, pg_depend, pg_attribute, pg_database, pg_tablespace.
-- Since: 14. Privilege: none.
-- Cost: a few milliseconds.
WITH t AS (
    SELECT c.*, n.nspname, quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS named,
           quote_ident(pg_get_userbyid(c.relowner)) AS owner, quote_ident(current_user) AS login
      FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = (parse_ident(%(key)s))[1] AND c.relname = (parse_ident(%(key)s))[2]
), needed(number, may, what, remedy, gives) AS (
    SELECT 1, pg_has_role(t.relowner, 'USAGE')
              -- To give what is made to the owner; until 15 every member may.
              AND pg_has_role(t.relowner, CASE WHEN current_setting('server_version_num')::int >= 160000
                                               THEN 'SET' ELSE 'MEMBER' END),
           'the rights of its owner ' || t.owner, 'GRANT ' || t.owner || ' TO ' || t.login,
           'all that its owner may do'
      FROM t
    UNION ALL
    SELECT 2, has_schema_privilege(t.relowner, t.relnamespace, kind.word), kind.word || ' on its schema, for its owner',
           'GRANT ' || kind.word || ' ON SCHEMA ' || quote_ident(t.nspname) || ' TO ' || t.owner, kind.gives
      FROM t, (VALUES ('USAGE', 'the owner finds what is there'), ('CREATE', 'the owner may make tables and functions there'))
           AS kind(word, gives)
    UNION ALL
    SELECT 3, has_tablespace_privilege(s.oid, 'CREATE') OR s.oid = d.dattablespace, 'CREATE on tablespace ' || s.spcname::text,
           'GRANT CREATE ON TABLESPACE ' || quote_ident(s.spcname) || ' TO ' || t.login, 'the room in it'
      FROM t, pg_catalog.pg_tablespace AS s, pg_catalog.pg_database AS d
     WHERE s.spcname = %(space)s AND d.datname = current_database()
    UNION ALL
    -- Its definition is copied, rows of the new part come back, and those that are there already go.
    SELECT 4, has_table_privilege(t.oid, kind.word), kind.word || ' on it',
           'GRANT ' || kind.word || ' ON ' || t.named || ' TO ' || t.owner, 'nothing that the owner could not take'
      FROM t, (VALUES ('SELECT'), ('INSERT'), ('DELETE')) AS kind(word)
     WHERE kind.word <> 'DELETE' OR %(moves)s::boolean
    UNION ALL
    SELECT 5, has_schema_privilege(p.relnamespace, 'USAGE'), 'USAGE on schema ' || n.nspname::text || ' of a foreign key',
           'GRANT USAGE ON SCHEMA ' || quote_ident(n.nspname) || ' TO ' || t.owner, 'the owner finds what is there'
      FROM t
      JOIN pg_catalog.pg_constraint AS k ON k.conrelid = t.oid AND k.contype = 'f'
      JOIN pg_catalog.pg_class AS p ON p.oid = k.confrelid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = p.relnamespace
    UNION ALL
    SELECT 6, has_table_privilege(p.oid, 'REFERENCES')
              OR NOT EXISTS (SELECT FROM unnest(k.confkey) AS a(number)
                              WHERE NOT has_column_privilege(p.oid, a.number, 'REFERENCES')),
           'REFERENCES on ' || p.relname::text || ', which a foreign key names',
           'GRANT REFERENCES ON ' || quote_ident(n.nspname) || '.' || quote_ident(p.relname) || ' TO ' || t.owner,
           'the owner may keep its rows from being deleted'
      FROM t
      JOIN pg_catalog.pg_constraint AS k ON k.conrelid = t.oid AND k.contype = 'f'
      JOIN pg_catalog.pg_class AS p ON p.oid = k.confrelid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = p.relnamespace
    UNION ALL
    SELECT 7, has_table_privilege(q.oid, 'SELECT'), 'SELECT on the identity sequence ' || q.relname::text,
           'GRANT SELECT ON SEQUENCE ' || quote_ident(n.nspname) || '.' || quote_ident(q.relname) || ' TO ' || t.owner,
           'the owner reads its last value'
      FROM t
      JOIN pg_catalog.pg_depend AS d
        ON d.refclassid = 'pg_class'::regclass::oid AND d.refobjid = t.oid AND d.classid = 'pg_class'::regclass::oid
       AND d.deptype = 'i' AND d.refobjsubid > 0
      JOIN pg_catalog.pg_class AS q ON q.oid = d.objid AND q.relkind = 'S'
      JOIN pg_catalog.pg_namespace AS n ON n.oid = q.relnamespace
    UNION ALL
    SELECT 8, has_type_privilege(a.atttypid, 'USAGE'), 'USAGE on type ' || format_type(a.atttypid, NULL),
           'GRANT USAGE ON TYPE ' || format_type(a.atttypid, NULL) || ' TO ' || t.owner, 'the owner may make columns of it'
      FROM t
      JOIN pg_catalog.pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT 9, NOT t.relforcerowsecurity OR r.rolbypassrls OR r.rolsuper, 'BYPASSRLS: its policies hold for its owner too',
           'ALTER ROLE ' || t.login || ' BYPASSRLS', 'the rows that policies hide, in all databases of the server'
      FROM t
      JOIN pg_catalog.pg_roles AS r ON r.rolname = current_user
)
SELECT DISTINCT n.number, n.what, n.remedy, n.gives, pg_get_userbyid(t.relowner)::text AS owner, t.named
  FROM needed AS n, t
 WHERE NOT n.may
 ORDER BY n.number, n.what
