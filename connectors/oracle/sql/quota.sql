-- The owner's quota (-1: unlimited) in the target, and whether it has UNLIMITED TABLESPACE, which needs none.
-- Reads: DBA_TS_QUOTAS, DBA_SYS_PRIVS. Since: 11.2. Privilege: SELECT on those. Cost: milliseconds.
SELECT 'quota' AS KIND, Q.BYTES AS USED, Q.MAX_BYTES AS LIMIT
  FROM SYS.DBA_TS_QUOTAS Q
 WHERE Q.USERNAME = :owner AND Q.TABLESPACE_NAME = :target
UNION ALL
SELECT 'unlimited', 0, -1
  FROM SYS.DBA_SYS_PRIVS P
 WHERE P.GRANTEE = :owner AND P.PRIVILEGE = 'UNLIMITED TABLESPACE'
