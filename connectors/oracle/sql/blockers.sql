-- Transactions of other sessions that hold a lock on the table: an online move waits for every one of them.
-- Reads: GV$LOCKED_OBJECT, DBA_OBJECTS. Since: 11.2. Privilege: SELECT on SYS.GV_$LOCKED_OBJECT, DBA_OBJECTS.
-- Cost: one row a locked object.
SELECT COUNT(*)
  FROM GV$LOCKED_OBJECT L
  JOIN DBA_OBJECTS O ON O.OBJECT_ID = L.OBJECT_ID
 WHERE O.OWNER = :owner AND O.OBJECT_NAME = :name
