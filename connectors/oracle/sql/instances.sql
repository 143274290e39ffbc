-- Names of the instances that are up, as far as one of them knows without asking the others.
-- Reads: V$ACTIVE_INSTANCES. Since: 11.2. Privilege: SELECT on SYS.V_$ACTIVE_INSTANCES. Cost: a millisecond.
SELECT A.INST_NUMBER, A.INST_NAME
  FROM SYS.V_$ACTIVE_INSTANCES A
 ORDER BY A.INST_NUMBER
