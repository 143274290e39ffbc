-- Who may do what with every table and column of the scratch schema.
-- Reads: DBA_TAB_PRIVS, DBA_COL_PRIVS. Since: 11.2. Privilege: SELECT on those. Cost: milliseconds.
SELECT P.TABLE_NAME || ' ' || P.PRIVILEGE || ' ' || P.GRANTEE AS WHAT, P.GRANTOR || ' ' || P.GRANTABLE AS HOW
  FROM SYS.DBA_TAB_PRIVS P
 WHERE P.OWNER = {literal}
UNION ALL
SELECT P.TABLE_NAME || '.' || P.COLUMN_NAME || ' ' || P.PRIVILEGE || ' ' || P.GRANTEE, P.GRANTOR || ' ' || P.GRANTABLE
  FROM SYS.DBA_COL_PRIVS P
 WHERE P.OWNER = {literal}
