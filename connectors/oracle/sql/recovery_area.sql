-- Room of the recovery area, where full logs are archived by default: without room the archiver stops, and then every
-- session that writes. No row without such an area.
-- Reads: V$RECOVERY_FILE_DEST. Since: 11.2. Privilege: SELECT on SYS.V_$RECOVERY_FILE_DEST. Cost: a millisecond.
SELECT A.SPACE_LIMIT, A.SPACE_USED, A.SPACE_RECLAIMABLE
  FROM SYS.V_$RECOVERY_FILE_DEST A
