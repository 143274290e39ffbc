-- What would make statements of a move fail, whatever object they move: one row each.
-- read_only: sessions of this login begin read-only, by a setting of the server, the database or the role (name: the one
-- that logged in, whatever role it takes; detail: the database).
-- event_trigger: an event trigger that is called for statements of moves (name, detail: its function).
-- index_function: an index whose expression or condition calls a function that looks names up by the session's
-- search_path, which is not the application's while an index is built (name: the index, detail: the function).
-- Reads: pg_settings, pg_event_trigger, pg_proc, pg_index, pg_depend, pg_language, pg_class, pg_namespace. Since: 14.
-- Privilege: none.
-- Cost: one scan of pg_index and of its dependencies.
SELECT 'read_only' AS kind, quote_ident(session_user) AS name, quote_ident(current_database()) AS detail
  FROM pg_catalog.pg_settings AS s
 WHERE s.name = 'default_transaction_read_only' AND s.reset_val = 'on'
UNION ALL
SELECT 'event_trigger', quote_ident(e.evtname), quote_ident(n.nspname) || '.' || quote_ident(f.proname)
  FROM pg_catalog.pg_event_trigger AS e
  JOIN pg_catalog.pg_proc AS f ON f.oid = e.evtfoid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = f.pronamespace
 WHERE e.evtenabled IN ('O', 'A')
   AND e.evtevent IN ('ddl_command_start', 'ddl_command_end', 'table_rewrite')
   AND (e.evttags IS NULL
        OR e.evttags && ARRAY['ALTER TABLE', 'ALTER INDEX', 'ALTER MATERIALIZED VIEW', 'REINDEX', 'CREATE TABLE',
                              'CREATE INDEX', 'DROP TABLE', 'DROP INDEX'])
UNION ALL
SELECT DISTINCT 'index_function',
       quote_ident(cn.nspname) || '.' || quote_ident(c.relname),
       quote_ident(n.nspname) || '.' || quote_ident(f.proname)
  FROM pg_catalog.pg_index AS i
  JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_namespace AS cn ON cn.oid = c.relnamespace
  JOIN pg_catalog.pg_depend AS d
    ON d.classid = 'pg_catalog.pg_class'::regclass::oid AND d.objid = i.indexrelid
   AND d.refclassid = 'pg_catalog.pg_proc'::regclass::oid
  JOIN pg_catalog.pg_proc AS f ON f.oid = d.refobjid
  JOIN pg_catalog.pg_namespace AS n ON n.oid = f.pronamespace
  JOIN pg_catalog.pg_language AS l ON l.oid = f.prolang
 WHERE (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
   AND f.oid >= 16384::oid
   AND l.lanname NOT IN ('c', 'internal')
   -- An SQL function with a body of its own was looked up when it was made.
   AND f.prosqlbody IS NULL
   AND NOT EXISTS (SELECT FROM unnest(f.proconfig) AS p (setting) WHERE p.setting LIKE 'search_path=%')
 ORDER BY 1, 2, 3
