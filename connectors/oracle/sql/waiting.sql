-- What the moving session waits for, and whose fault that is (blocking_session NULL: nobody's).
-- Reads: GV$SESSION. Since: 11.2. Privilege: SELECT on SYS.GV_$SESSION. Cost: a millisecond.
SELECT S.EVENT, S.SECONDS_IN_WAIT, S.BLOCKING_SESSION
  FROM SYS.GV_$SESSION S
 WHERE S.INST_ID = :inst AND S.SID = :sid AND S.SERIAL# = :serial
