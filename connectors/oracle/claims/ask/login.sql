-- What this login is and may do that it must not, one sentence a row: prove drops and moves, so it takes no login that can
-- do more than that in its scratch schema; with a tablespace that is given away it has to move data files.
-- Reads: SESSION_PRIVS, SESSION_ROLES, DBA_OBJECTS. Since: 11.2. Privilege: SELECT on DBA_OBJECTS. Cost: milliseconds.
SELECT USER || ' is connected as SYSDBA' AS WHY
  FROM SYS.DUAL
 WHERE SYS_CONTEXT('USERENV', 'ISDBA') = 'TRUE'
UNION ALL
SELECT USER || ' has the role ' || R.ROLE
  FROM SYS.SESSION_ROLES R
 WHERE R.ROLE IN ('DBA', 'PDB_DBA', 'CDB_DBA', 'IMP_FULL_DATABASE', 'DATAPUMP_IMP_FULL_DATABASE')
UNION ALL
SELECT USER || ' may ' || P.PRIVILEGE
  FROM SYS.SESSION_PRIVS P
 WHERE P.PRIVILEGE LIKE '% ANY %' AND P.PRIVILEGE <> 'SELECT ANY DICTIONARY'
    OR P.PRIVILEGE = 'ALTER DATABASE' AND {given} = 0
    OR P.PRIVILEGE IN ('SYSDBA', 'SYSOPER', 'SYSBACKUP', 'SYSDG', 'SYSKM', 'ALTER SYSTEM',
                       'ALTER TABLESPACE', 'DROP TABLESPACE', 'CREATE USER', 'ALTER USER', 'DROP USER', 'BECOME USER',
                       'EXEMPT ACCESS POLICY')
UNION ALL
SELECT USER || ' also owns ' || O.OBJECT_NAME
  FROM SYS.DBA_OBJECTS O
 WHERE O.OWNER = USER
   AND O.OWNER <> {literal}
   AND ROWNUM <= 3
