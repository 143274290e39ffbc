-- As awr.sql, of an object of the container that this session is in.
-- Only asked where the configuration says that the Diagnostics Pack is licensed (both views are on the list of exempt
-- ones, but that is for the site to judge). A snapshot holds only the segments that stood out in it.
-- Reads: DBA_HIST_SEG_STAT, DBA_HIST_SNAPSHOT, V$DATABASE, V$CONTAINERS. Since: 12.1. Cost: by index on snapshots, tens of
-- milliseconds. Privilege: SELECT on DBA_HIST_SEG_STAT, DBA_HIST_SNAPSHOT, SYS.V_$DATABASE, SYS.V_$CONTAINERS.
SELECT COUNT(DISTINCT N.SNAP_ID) AS SNAPSHOTS,
       COUNT(DISTINCT H.SNAP_ID) AS SEEN,
       SUM(H.PHYSICAL_READS_DELTA - H.PHYSICAL_READS_DIRECT_DELTA) AS BLOCKS,
       SUM(H.PHYSICAL_READ_REQUESTS_DELTA) AS CALLS
  FROM SYS.V_$DATABASE D
  JOIN SYS.V_$CONTAINERS C ON C.CON_ID = TO_NUMBER(SYS_CONTEXT('USERENV', 'CON_ID'))
  JOIN SYS.DBA_HIST_SNAPSHOT N ON N.DBID = D.DBID AND N.END_INTERVAL_TIME >= SYSDATE - :days
  LEFT JOIN SYS.DBA_HIST_SEG_STAT H
    ON H.DBID = N.DBID AND H.SNAP_ID = N.SNAP_ID AND H.INSTANCE_NUMBER = N.INSTANCE_NUMBER AND H.OBJ# = :obj
   AND H.CON_DBID = C.DBID
