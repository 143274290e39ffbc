-- Why the scratch schema cannot be used, one sentence a row: it is missing, another's, or not empty. What lies in the
-- recycle bin does not count.
-- Reads: DBA_USERS, DBA_OBJECTS. Since: 11.2. Privilege: SELECT on those. Cost: milliseconds.
SELECT 'there is no schema ' || {literal} AS WHY
  FROM SYS.DUAL
 WHERE NOT EXISTS (SELECT 1 FROM SYS.DBA_USERS U WHERE U.USERNAME = {literal})
UNION ALL
SELECT 'the schema ' || U.USERNAME || ' is not that of the login, ' || USER
       || ': log in as its owner, or as login[owner] where the owner may be connected through'
  FROM SYS.DBA_USERS U
 WHERE U.USERNAME = {literal}
   AND U.USERNAME <> USER
UNION ALL
SELECT 'the schema ' || O.OWNER || ' is not empty: it holds the ' || O.OBJECT_TYPE || ' ' || O.OBJECT_NAME
  FROM SYS.DBA_OBJECTS O
 WHERE O.OWNER = {literal}
   AND O.OBJECT_NAME NOT LIKE 'BIN$%'
   AND ROWNUM <= 5
