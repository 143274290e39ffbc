-- Whether everything in the scratch schema is valid, every index can be used and every constraint has been checked.
-- Reads: DBA_OBJECTS, DBA_INDEXES, DBA_IND_PARTITIONS, DBA_CONSTRAINTS. Since: 11.2. Privilege: SELECT on those.
-- Cost: milliseconds.
SELECT O.OBJECT_TYPE || ' ' || O.OBJECT_NAME || ' ' || O.SUBOBJECT_NAME AS WHAT, O.STATUS AS HOW
  FROM SYS.DBA_OBJECTS O
 WHERE O.OWNER = {literal}
   AND O.OBJECT_NAME NOT LIKE 'BIN$%'
UNION ALL
SELECT 'use of index ' || I.INDEX_NAME, I.STATUS || ' ' || I.FUNCIDX_STATUS
  FROM SYS.DBA_INDEXES I
 WHERE I.OWNER = {literal}
UNION ALL
SELECT 'use of index ' || P.INDEX_NAME || ' ' || P.PARTITION_NAME, P.STATUS
  FROM SYS.DBA_IND_PARTITIONS P
 WHERE P.INDEX_OWNER = {literal}
UNION ALL
SELECT 'constraint ' || K.CONSTRAINT_NAME, K.STATUS || ' ' || K.VALIDATED
  FROM SYS.DBA_CONSTRAINTS K
 WHERE K.OWNER = {literal}
