-- Conditions of check constraints, whose texts are LONG and so stand in no UNION.
-- Reads: DBA_CONSTRAINTS. Since: 11.2. Privilege: SELECT on it. Cost: milliseconds.
SELECT K.TABLE_NAME || '.' || K.CONSTRAINT_NAME AS WHAT, K.SEARCH_CONDITION
  FROM SYS.DBA_CONSTRAINTS K
 WHERE K.OWNER = {literal}
   AND K.CONSTRAINT_TYPE = 'C'
