-- Expressions of function-based indexes, whose texts are LONG and so stand in no UNION.
-- Reads: DBA_IND_EXPRESSIONS. Since: 11.2. Privilege: SELECT on it. Cost: milliseconds.
SELECT X.INDEX_NAME || ' ' || X.COLUMN_POSITION AS WHAT, X.COLUMN_EXPRESSION
  FROM SYS.DBA_IND_EXPRESSIONS X
 WHERE X.INDEX_OWNER = {literal}
