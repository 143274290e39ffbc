-- Long operations of the moving session, the newest first; each step of a statement is one of its own.
-- Reads: GV$SESSION_LONGOPS. Since: 11.2. Privilege: SELECT on SYS.GV_$SESSION_LONGOPS. Cost: a millisecond.
SELECT L.OPNAME, L.SOFAR, L.TOTALWORK
  FROM SYS.GV_$SESSION_LONGOPS L
 WHERE L.INST_ID = :inst AND L.SID = :sid AND L.SERIAL# = :serial
 ORDER BY L.START_TIME DESC, L.LAST_UPDATE_TIME DESC
