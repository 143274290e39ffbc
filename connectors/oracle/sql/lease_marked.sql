-- Sessions with the login of this one that act without the lock of the lease, by their action; in the columns of lease_holder.
-- Reads: GV$SESSION. Since: 11.2. Privilege: SELECT on SYS.GV_$SESSION. Cost: one row a session.
SELECT S.SID,
       S.ACTION,
       S.MACHINE,
       S.USERNAME,
       1 AS OWN,
       CASE WHEN S.SID = TO_NUMBER(SYS_CONTEXT('USERENV', 'SID'))
             AND S.INST_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'INSTANCE')) THEN 1 ELSE 0 END AS OURS
  FROM SYS.GV_$SESSION S
 WHERE S.USERNAME = SYS_CONTEXT('USERENV', 'SESSION_USER')
   AND S.MODULE = :module
   AND SUBSTR(S.ACTION, 1, LENGTH(:mark)) = :mark
