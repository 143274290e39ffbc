-- System privileges and roles that this session has in force.
-- Reads: SESSION_PRIVS, SESSION_ROLES. Since: 11.2. Privilege: none. Cost: a millisecond.
SELECT 'privilege' AS KIND, P.PRIVILEGE AS NAME FROM SYS.SESSION_PRIVS P
UNION ALL
SELECT 'role', R.ROLE FROM SYS.SESSION_ROLES R
