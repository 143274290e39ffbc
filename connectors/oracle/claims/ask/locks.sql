-- Table locks of the moving session, in the scratch schema, that hold up whoever writes: the key of the table or
-- partition, the mode in words, its rank (a stronger one is greater), whether it is granted.
-- Reads: GV$LOCK, GV$SESSION, DBA_OBJECTS. Since: 11.2. Privilege: SELECT on SYS.GV_$LOCK, SYS.GV_$SESSION, DBA_OBJECTS.
-- Cost: milliseconds.
SELECT {key} || '.'
       || CASE WHEN O.OBJECT_NAME = UPPER(O.OBJECT_NAME) AND INSTR(O.OBJECT_NAME, ' ') = 0 THEN O.OBJECT_NAME
               ELSE '"' || O.OBJECT_NAME || '"' END
       || CASE WHEN O.SUBOBJECT_NAME IS NULL THEN NULL ELSE ' PARTITION ' || O.SUBOBJECT_NAME END AS UNIT,
       CASE L.LMODE WHEN 6 THEN 'exclusive DDL lock' WHEN 5 THEN 'share row exclusive lock' ELSE 'share lock' END
       AS MODE_NAME,
       L.LMODE AS RANK_OF_MODE,
       1 AS GRANTED
  FROM SYS.GV_$LOCK L
  JOIN SYS.GV_$SESSION S ON S.INST_ID = L.INST_ID AND S.SID = L.SID
  JOIN SYS.DBA_OBJECTS O ON O.OBJECT_ID = L.ID1
 WHERE L.TYPE = 'TM'
   AND L.LMODE >= 4
   AND S.MODULE = 'hotplace'
   AND S.ACTION LIKE 'move %'
   AND O.OWNER = {literal}
