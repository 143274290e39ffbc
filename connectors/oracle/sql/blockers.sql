-- Transactions of other sessions, older than :days, that hold a lock on the table or partition: an online move waits for
-- each that is there as it starts. One that changes other partitions locks the table too, in a mode (up to 3) that lets
-- DDL of this partition pass. No part: whatever is locked of the table.
-- Reads: GV$LOCKED_OBJECT, DBA_OBJECTS, GV$SESSION, GV$TRANSACTION. Since: 11.2.
-- Privilege: SELECT on SYS.GV_$LOCKED_OBJECT, DBA_OBJECTS, SYS.GV_$SESSION, SYS.GV_$TRANSACTION.
-- Cost: one row a locked object.
SELECT COUNT(*)
  FROM SYS.GV_$LOCKED_OBJECT L
  JOIN SYS.DBA_OBJECTS O ON O.OBJECT_ID = L.OBJECT_ID
  JOIN SYS.GV_$SESSION S ON S.INST_ID = L.INST_ID AND S.SID = L.SESSION_ID
  JOIN SYS.GV_$TRANSACTION T ON T.INST_ID = S.INST_ID AND T.SES_ADDR = S.SADDR
 WHERE O.OWNER = :owner AND O.OBJECT_NAME = :name
   AND (:part IS NULL OR O.SUBOBJECT_NAME = :part OR O.SUBOBJECT_NAME IS NULL AND L.LOCKED_MODE > 3)
   AND T.START_DATE <= SYSDATE - :days
