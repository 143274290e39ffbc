-- XML schemas and other XSR objects that depend on one table (decomposition into it).
-- Reads: SYSCAT.XSROBJECTDEP. Since: 9.7. Privilege: SELECT. Cost: no row, as a rule.
SELECT X.OBJECTSCHEMA,
       X.OBJECTNAME
  FROM SYSCAT.XSROBJECTDEP AS X
 WHERE X.BTYPE = 'T'
   AND X.BSCHEMA = CAST(? AS VARCHAR(128))
   AND X.BNAME = CAST(? AS VARCHAR(128))
  WITH UR
