-- Units by object id, at most 20 at a time (NULL fills up): what a plan names, as it is now.
-- Reads: DBA_OBJECTS, DBA_SEGMENTS. Since: 11.2. Privilege: SELECT on those. Cost: by index, milliseconds each.
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
  LEFT JOIN SYS.DBA_SEGMENTS S
    ON S.OWNER = O.OWNER
   AND S.SEGMENT_NAME = O.OBJECT_NAME
   AND NVL(S.PARTITION_NAME, ' ') = NVL(O.SUBOBJECT_NAME, ' ')
   AND CASE S.SEGMENT_TYPE WHEN 'LOBSEGMENT' THEN 'LOB' WHEN 'NESTED TABLE' THEN 'TABLE' ELSE S.SEGMENT_TYPE END
       = O.OBJECT_TYPE
 WHERE O.OBJECT_ID IN (:i0, :i1, :i2, :i3, :i4, :i5, :i6, :i7, :i8, :i9,
                       :i10, :i11, :i12, :i13, :i14, :i15, :i16, :i17, :i18, :i19)
 ORDER BY O.OBJECT_ID
