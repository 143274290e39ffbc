-- Views that have to be validated anew; the server does so at their next use unless auto_reval is DISABLED.
-- Reads: SYSCAT.INVALIDOBJECTS. Since: 9.7. Privilege: SELECT. Cost: a few rows.
SELECT V.OBJECTSCHEMA,
       V.OBJECTNAME
  FROM SYSCAT.INVALIDOBJECTS AS V
 WHERE V.OBJECTTYPE = 'V'
  WITH UR
