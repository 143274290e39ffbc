-- Why the scratch schema cannot be used, one sentence a row: it is missing, another's, not empty, or a right is missing that
-- its cases need.
-- Reads: SYSCAT.SCHEMATA, SYSCAT.TABLES, SYSCAT.ROUTINES, AUTH_LIST_AUTHORITIES_FOR_AUTHID. Since: 9.7. Privilege: SELECT,
-- EXECUTE. Cost: milliseconds.
SELECT CAST('there is no schema ' || {literal} AS VARCHAR(300)) AS WHY
  FROM SYSIBM.SYSDUMMY1 AS D
 WHERE NOT EXISTS (SELECT 1 FROM SYSCAT.SCHEMATA AS S WHERE S.SCHEMANAME = {literal})
UNION ALL
SELECT CAST('the schema ' || S.SCHEMANAME || ' belongs to ' || S.OWNER || ', not to ' || SESSION_USER AS VARCHAR(300))
  FROM SYSCAT.SCHEMATA AS S
 WHERE S.SCHEMANAME = {literal}
   AND S.OWNER <> SESSION_USER
UNION ALL
SELECT CAST('the schema ' || B.TABSCHEMA || ' is not empty: it holds ' || B.TABNAME AS VARCHAR(300))
  FROM SYSCAT.TABLES AS B
 WHERE B.TABSCHEMA = {literal}
UNION ALL
SELECT CAST('the schema ' || R.ROUTINESCHEMA || ' is not empty: it holds the routine ' || R.ROUTINENAME AS VARCHAR(300))
  FROM SYSCAT.ROUTINES AS R
 WHERE R.ROUTINESCHEMA = {literal}
UNION ALL
SELECT CAST(SESSION_USER || ' may not make tables: GRANT CREATETAB ON DATABASE TO USER ' || SESSION_USER AS VARCHAR(300))
  FROM SYSIBM.SYSDUMMY1 AS D
 WHERE NOT EXISTS (SELECT 1
                     FROM TABLE(SYSPROC.AUTH_LIST_AUTHORITIES_FOR_AUTHID(SESSION_USER, 'U')) AS A
                    WHERE A.AUTHORITY = 'CREATETAB'
                      AND (A.D_USER = 'Y' OR A.D_GROUP = 'Y' OR A.D_PUBLIC = 'Y' OR A.ROLE_USER = 'Y'
                           OR A.ROLE_GROUP = 'Y' OR A.ROLE_PUBLIC = 'Y'))
UNION ALL
SELECT CAST(SESSION_USER || ' may not call ADMIN_MOVE_TABLE: GRANT SQLADM ON DATABASE TO USER ' || SESSION_USER
            AS VARCHAR(300))
  FROM SYSIBM.SYSDUMMY1 AS D
 WHERE NOT EXISTS (SELECT 1
                     FROM TABLE(SYSPROC.AUTH_LIST_AUTHORITIES_FOR_AUTHID(SESSION_USER, 'U')) AS A
                    WHERE A.AUTHORITY = 'SQLADM'
                      AND (A.D_USER = 'Y' OR A.D_GROUP = 'Y' OR A.D_PUBLIC = 'Y' OR A.ROLE_USER = 'Y'
                           OR A.ROLE_GROUP = 'Y' OR A.ROLE_PUBLIC = 'Y'))
  WITH UR
