-- Who holds the lease, and whether that is this session.
-- Reads: GV$LOCK, GV$SESSION. Since: 11.2. Privilege: SELECT on SYS.GV_$LOCK, SYS.GV_$SESSION. Cost: one row a lock.
SELECT S.SID,
       S.ACTION,
       S.MACHINE,
       CASE WHEN S.SID = TO_NUMBER(SYS_CONTEXT('USERENV', 'SID'))
             AND S.INST_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'INSTANCE')) THEN 1 ELSE 0 END AS OURS
  FROM GV$LOCK L
  JOIN GV$SESSION S ON S.INST_ID = L.INST_ID AND S.SID = L.SID
 WHERE L.TYPE = 'UL' AND L.ID1 = :id AND L.LMODE = 6
