-- Sessions of clients but those of hotplace, and without parallel query servers, which work for one of these: who each
-- is (one user under one module, or program where none is named, is one kind), whether it is in a call, whether that
-- waits for a read, whether a transaction is open, seconds since it is in a call or since it is not, and microseconds
-- of its present wait.
-- Reads: GV$SESSION. Since: 11.2. Privilege: SELECT on SYS.GV_$SESSION. Cost: one row a session.
SELECT S.USERNAME AS USERNAME,
       NVL(S.MODULE, S.PROGRAM) AS PROGRAM,
       CASE WHEN S.STATUS = 'ACTIVE' THEN 1 ELSE 0 END AS WORKING,
       CASE WHEN S.STATE = 'WAITING'
             AND S.EVENT IN ('db file sequential read', 'db file scattered read', 'db file parallel read',
                             'direct path read', 'read by other session', 'cell single block physical read',
                             'cell multiblock physical read') THEN 1 ELSE 0 END AS READING,
       CASE WHEN S.TADDR IS NULL THEN 0 ELSE 1 END AS IN_TRANSACTION,
       S.LAST_CALL_ET AS SECONDS,
       CASE WHEN S.STATE = 'WAITING' THEN S.WAIT_TIME_MICRO END AS WAITING
  FROM SYS.GV_$SESSION S
 WHERE S.TYPE = 'USER'
   AND S.STATUS IN ('ACTIVE', 'INACTIVE')
   AND (S.MODULE IS NULL OR S.MODULE <> 'hotplace')
   AND (S.PROGRAM IS NULL OR S.PROGRAM NOT LIKE '%(P%)')
