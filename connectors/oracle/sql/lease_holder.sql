-- Who has the lock of the lease, whether with the login of this session, and whether that is this session. A session that acts
-- without the lock, because a stranger has it, is known by its action.
-- Reads: GV$LOCK, GV$SESSION. Since: 11.2. Privilege: SELECT on SYS.GV_$LOCK, SYS.GV_$SESSION. Cost: one row a lock.
SELECT S.SID,
       S.ACTION,
       S.MACHINE,
       S.USERNAME,
       CASE WHEN S.USERNAME = SYS_CONTEXT('USERENV', 'SESSION_USER') THEN 1 ELSE 0 END AS OWN,
       CASE WHEN S.SID = TO_NUMBER(SYS_CONTEXT('USERENV', 'SID'))
             AND S.INST_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'INSTANCE')) THEN 1 ELSE 0 END AS OURS
  FROM SYS.GV_$LOCK L
  JOIN SYS.GV_$SESSION S ON S.INST_ID = L.INST_ID AND S.SID = L.SID
 WHERE L.TYPE = 'UL' AND L.ID1 = :id AND L.LMODE = 6
