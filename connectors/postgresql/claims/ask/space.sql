-- Why a scratch space cannot be used, one sentence a row. Parameter {space}: its name.
-- Reads: pg_tablespace. Since: 14. Privilege: none. Cost: under 1 ms.
SELECT 'there is no tablespace ' || {space}
 WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_tablespace AS t WHERE t.spcname = {space})
UNION ALL
SELECT current_user || ' may not create in the tablespace ' || quote_ident(t.spcname) || ': GRANT CREATE ON TABLESPACE '
       || quote_ident(t.spcname) || ' TO ' || quote_ident(current_user) || ';'
  FROM pg_catalog.pg_tablespace AS t
 WHERE t.spcname = {space}
   AND NOT has_tablespace_privilege(t.oid, 'CREATE')
