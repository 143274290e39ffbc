-- Every table, cluster, index, LOB and their partitions with the segment it has, if any, in order of object id. A LOB
-- is called LOB here and LOBSEGMENT in DBA_SEGMENTS, a nested table TABLE here and NESTED TABLE there.
-- Reads: DBA_OBJECTS, DBA_SEGMENTS. Since: 12.1 (ORACLE_MAINTAINED; units_11.sql before). Privilege: SELECT on those.
-- Cost: a scan of both, seconds with 100,000 segments; DBA_EXTENTS is never read.
SELECT O.OBJECT_ID,
       O.DATA_OBJECT_ID,
       O.OWNER,
       O.OBJECT_NAME,
       O.SUBOBJECT_NAME,
       O.OBJECT_TYPE,
       S.BYTES,
       S.BLOCKS,
       S.TABLESPACE_NAME,
       S.BUFFER_POOL
  FROM SYS.DBA_OBJECTS O
-- A partitioned table has no segment, but its object id is the one that its partitions and indexes are grouped under.
  LEFT JOIN SYS.DBA_SEGMENTS S
    ON S.OWNER = O.OWNER
   AND S.SEGMENT_NAME = O.OBJECT_NAME
   AND NVL(S.PARTITION_NAME, ' ') = NVL(O.SUBOBJECT_NAME, ' ')
   AND CASE S.SEGMENT_TYPE WHEN 'LOBSEGMENT' THEN 'LOB' WHEN 'NESTED TABLE' THEN 'TABLE' ELSE S.SEGMENT_TYPE END
       = O.OBJECT_TYPE
 WHERE O.OBJECT_TYPE IN ('TABLE', 'TABLE PARTITION', 'TABLE SUBPARTITION', 'INDEX', 'INDEX PARTITION',
                         'INDEX SUBPARTITION', 'LOB', 'LOB PARTITION', 'LOB SUBPARTITION', 'CLUSTER')
   AND O.ORACLE_MAINTAINED = 'N'
   AND O.TEMPORARY = 'N'
   AND O.OBJECT_NAME NOT LIKE 'BIN$%'
 ORDER BY O.OBJECT_ID
