-- The container this session is in: of a database that is no CDB, its only one (CON_ID 0).
-- Reads: V$CONTAINERS, V$DATABASE. Since: 12.1. Privilege: SELECT on SYS.V_$CONTAINERS, SYS.V_$DATABASE.
-- Cost: a few milliseconds.
SELECT C.CON_ID, C.CON_UID, C.NAME, C.OPEN_MODE, D.CDB
  FROM SYS.V_$CONTAINERS C CROSS JOIN SYS.V_$DATABASE D
 WHERE C.CON_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'CON_ID'))
