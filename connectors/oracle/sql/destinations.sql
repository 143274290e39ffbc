-- Which log each destination has received and, where it is a standby, applied last; and how large a log is. A primary
-- knows of no lag in seconds: V$DATAGUARD_STATS has no rows there.
-- Reads: V$ARCHIVE_DEST_STATUS, V$LOG. Since: 11.2.
-- Privilege: SELECT on SYS.V_$ARCHIVE_DEST_STATUS, SYS.V_$LOG. Cost: some milliseconds.
SELECT D.DEST_ID, D.TYPE, D.ARCHIVED_SEQ#, D.APPLIED_SEQ#,
       (SELECT MAX(L.BYTES) FROM SYS.V_$LOG L) AS LOG_BYTES
  FROM SYS.V_$ARCHIVE_DEST_STATUS D
 WHERE D.STATUS = 'VALID'
