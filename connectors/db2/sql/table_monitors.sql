-- Event monitors that write to one table. Reads: SYSCAT.EVENTTABLES. Since: 9.7. Privilege: SELECT. Cost: no row, as a rule.
SELECT E.EVMONNAME
  FROM SYSCAT.EVENTTABLES AS E
 WHERE E.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND E.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
