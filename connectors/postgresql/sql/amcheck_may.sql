-- Whether the extension amcheck is in this database at a version that looks for equal rows under unique indexes, in which
-- schema, and whether this login may call it.
-- Reads: pg_extension, pg_namespace, pg_proc, pg_depend. Since: 14 (the function has that argument since 17). Privilege: none.
-- Cost: under a millisecond.
SELECT quote_ident(n.nspname) AS schema,
       has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(f.oid, 'EXECUTE') AS may,
       quote_ident(current_user) AS login
  FROM pg_catalog.pg_extension AS e
  JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
  JOIN pg_catalog.pg_depend AS d
    ON d.refclassid = 'pg_catalog.pg_extension'::regclass::oid AND d.refobjid = e.oid AND d.deptype = 'e'
   AND d.classid = 'pg_catalog.pg_proc'::regclass::oid
  JOIN pg_catalog.pg_proc AS f ON f.oid = d.objid
 WHERE e.extname = 'amcheck'
   AND f.proname = 'bt_index_check'
   AND f.pronargs = 3
