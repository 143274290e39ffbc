-- Object ids and sizes of the partitions of a table; without a size: no row has come yet, so it has no segment.
-- Reads: DBA_OBJECTS, DBA_SEGMENTS. Since: 11.2. Privilege: SELECT on those. Cost: by name, milliseconds.
SELECT O.SUBOBJECT_NAME, O.OBJECT_ID, G.BYTES
  FROM SYS.DBA_OBJECTS O
  LEFT JOIN SYS.DBA_SEGMENTS G
    ON G.OWNER = O.OWNER AND G.SEGMENT_NAME = O.OBJECT_NAME AND G.PARTITION_NAME = O.SUBOBJECT_NAME
   AND G.SEGMENT_TYPE = O.OBJECT_TYPE
 WHERE O.OWNER = :owner AND O.OBJECT_NAME = :name AND O.OBJECT_TYPE = 'TABLE PARTITION'
