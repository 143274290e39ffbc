-- Where the extents of one segment lie, in the order in which it got them: its first block is block 0 of the first one.
-- Reads: DBA_EXTENTS. Since: 11.2. Privilege: SELECT on SYS.DBA_EXTENTS. Cost: the extent map of one segment, by its
-- header; without owner and name it would be that of every segment, which takes minutes. Asked once, and again when the
-- segment has grown or moved.
SELECT E.FILE_ID, E.BLOCK_ID, E.BLOCKS, E.BYTES
  FROM SYS.DBA_EXTENTS E
 WHERE E.OWNER = :owner AND E.SEGMENT_NAME = :name AND NVL(E.PARTITION_NAME, ' ') = NVL(:part, ' ')
   AND CASE E.SEGMENT_TYPE WHEN 'LOBSEGMENT' THEN 'LOB' WHEN 'NESTED TABLE' THEN 'TABLE' ELSE E.SEGMENT_TYPE END = :type
 ORDER BY E.EXTENT_ID
