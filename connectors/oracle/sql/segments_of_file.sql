-- Segments with an extent in one data file; written out for a person, never sent by the agent.
-- Reads: DBA_EXTENTS. Since: 11.2. Privilege: SELECT on it. Cost: HIGH: extent maps of every segment, minutes.
SELECT DISTINCT E.OWNER, E.SEGMENT_NAME, E.PARTITION_NAME, E.SEGMENT_TYPE
  FROM DBA_EXTENTS E
 WHERE E.FILE_ID = :file_id
