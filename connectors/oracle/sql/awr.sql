-- How often one object was among the most read of a snapshot, and what it read, in the last days.
-- Only asked where the configuration says that the Diagnostics Pack is licensed (both views are on the list of exempt
-- ones, but that is for the site to judge). A snapshot holds only the segments that stood out in it.
-- Reads: DBA_HIST_SEG_STAT, DBA_HIST_SNAPSHOT, V$DATABASE. Since: 11.2. Cost: by index on snapshots, tens of
-- milliseconds. Privilege: SELECT on DBA_HIST_SEG_STAT, DBA_HIST_SNAPSHOT, SYS.V_$DATABASE.
SELECT COUNT(DISTINCT N.SNAP_ID) AS SNAPSHOTS,
       COUNT(DISTINCT H.SNAP_ID) AS SEEN,
       SUM(H.PHYSICAL_READS_DELTA - H.PHYSICAL_READS_DIRECT_DELTA) AS BLOCKS,
       SUM(H.PHYSICAL_READ_REQUESTS_DELTA) AS CALLS
  FROM SYS.V_$DATABASE D
  JOIN SYS.DBA_HIST_SNAPSHOT N ON N.DBID = D.DBID AND N.END_INTERVAL_TIME >= SYSDATE - :days
  LEFT JOIN SYS.DBA_HIST_SEG_STAT H
    ON H.DBID = N.DBID AND H.SNAP_ID = N.SNAP_ID AND H.INSTANCE_NUMBER = N.INSTANCE_NUMBER AND H.OBJ# = :obj
