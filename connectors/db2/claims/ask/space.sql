-- Why a scratch space cannot be used, one sentence a row. Parameter {space}: its name. A right that comes through a group or
-- a role is taken for one of this login: CREATE TABLE says what is true.
-- Reads: SYSCAT.TABLESPACES, SYSCAT.TBSPACEAUTH. Since: 9.7. Privilege: SELECT. Cost: under a millisecond.
SELECT CAST('there is no table space ' || {space} AS VARCHAR(300)) AS WHY
  FROM SYSIBM.SYSDUMMY1 AS D
 WHERE NOT EXISTS (SELECT 1 FROM SYSCAT.TABLESPACES AS S WHERE S.TBSPACE = {space})
UNION ALL
SELECT CAST('the table space ' || S.TBSPACE || ' takes no tables: it is temporary, or of the system' AS VARCHAR(300))
  FROM SYSCAT.TABLESPACES AS S
 WHERE S.TBSPACE = {space}
   AND (S.DATATYPE NOT IN ('A', 'L') OR S.TBSPACE LIKE 'SYS%')
UNION ALL
SELECT CAST('the table space ' || S.TBSPACE || ' is managed by the system: ADMIN_MOVE_TABLE puts no index there'
            AS VARCHAR(300))
  FROM SYSCAT.TABLESPACES AS S
 WHERE S.TBSPACE = {space}
   AND S.TBSPACETYPE = 'S'
UNION ALL
SELECT CAST(SESSION_USER || ' may not use it: GRANT USE OF TABLESPACE ' || S.TBSPACE || ' TO USER ' || SESSION_USER
            AS VARCHAR(300))
  FROM SYSCAT.TABLESPACES AS S
 WHERE S.TBSPACE = {space}
   AND NOT EXISTS (SELECT 1
                     FROM SYSCAT.TBSPACEAUTH AS U
                    WHERE U.TBSPACE = S.TBSPACE
                      AND (U.GRANTEE = SESSION_USER OR U.GRANTEETYPE IN ('G', 'R'))
                      AND U.USEAUTH IN ('Y', 'G'))
  WITH UR
