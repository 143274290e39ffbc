-- What this login may do and owns that it must not, one sentence a row: prove drops and moves, so it takes no login that can
-- do more than that in its scratch schema. SQLADM is none of it: ADMIN_MOVE_TABLE demands it, or DBADM.
-- Reads: AUTH_LIST_AUTHORITIES_FOR_AUTHID, SYSCAT.SCHEMATA, SYSCAT.TABLES. Since: 9.7. Privilege: EXECUTE (PUBLIC has it
-- unless the database is restrictive), SELECT. Cost: milliseconds.
SELECT CAST(SESSION_USER || ' holds ' || A.AUTHORITY AS VARCHAR(300)) AS WHY
  FROM TABLE(SYSPROC.AUTH_LIST_AUTHORITIES_FOR_AUTHID(SESSION_USER, 'U')) AS A
 WHERE A.AUTHORITY IN ('SYSADM', 'SYSCTRL', 'SYSMAINT', 'DBADM', 'SECADM', 'DATAACCESS', 'ACCESSCTRL')
   AND (A.D_USER = 'Y' OR A.D_GROUP = 'Y' OR A.D_PUBLIC = 'Y' OR A.ROLE_USER = 'Y' OR A.ROLE_GROUP = 'Y'
        OR A.ROLE_PUBLIC = 'Y')
UNION ALL
SELECT CAST(SESSION_USER || ' also owns the schema ' || S.SCHEMANAME AS VARCHAR(300))
  FROM SYSCAT.SCHEMATA AS S
 WHERE S.OWNER = SESSION_USER
   AND S.SCHEMANAME <> {literal}
UNION ALL
SELECT CAST(SESSION_USER || ' also owns ' || B.TABSCHEMA || '.' || B.TABNAME AS VARCHAR(300))
  FROM SYSCAT.TABLES AS B
 WHERE B.OWNER = SESSION_USER
   AND B.TABSCHEMA <> {literal}
   AND B.TABSCHEMA NOT LIKE 'SYS%'
  WITH UR
