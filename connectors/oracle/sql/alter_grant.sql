-- Whether this login was given ALTER on one table, by itself, by PUBLIC or by a role in force.
-- Reads: DBA_TAB_PRIVS, SESSION_ROLES. Since: 11.2. Privilege: SELECT on DBA_TAB_PRIVS. Cost: milliseconds.
SELECT COUNT(*)
  FROM SYS.DBA_TAB_PRIVS P
 WHERE P.OWNER = :owner AND P.TABLE_NAME = :name AND P.PRIVILEGE = 'ALTER'
   AND (P.GRANTEE IN ('PUBLIC', SYS_CONTEXT('USERENV', 'SESSION_USER'))
        OR P.GRANTEE IN (SELECT R.ROLE FROM SYS.SESSION_ROLES R))
