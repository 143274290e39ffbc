-- Whether every table of the scratch schema can be read and written, and nothing in it is invalid.
-- Reads: SYSCAT.TABLES, SYSCAT.INVALIDOBJECTS. Since: 9.7. Privilege: SELECT. Cost: milliseconds.
SELECT CAST('table ' || B.TABNAME AS VARCHAR(400)) AS WHAT, CAST(B.STATUS || ' ' || B.ACCESS_MODE AS VARCHAR(40)) AS HOW
  FROM SYSCAT.TABLES AS B
 WHERE B.TABSCHEMA = {literal}
UNION ALL
SELECT CAST('object ' || O.OBJECTNAME AS VARCHAR(400)), CAST('invalid' AS VARCHAR(40))
  FROM SYSCAT.INVALIDOBJECTS AS O
 WHERE O.OBJECTSCHEMA = {literal}
  WITH UR
