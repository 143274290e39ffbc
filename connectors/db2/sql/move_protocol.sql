-- Where an ADMIN_MOVE_TABLE of one table stands. The table exists from the first move of the database on.
-- Reads: SYSTOOLS.ADMIN_MOVE_TABLE. Since: 9.7. Privilege: SELECT on it. Cost: a few rows. VALUE is a CLOB, hence the cast.
SELECT M."KEY",
       CAST(M."VALUE" AS VARCHAR(1000))
  FROM SYSTOOLS.ADMIN_MOVE_TABLE AS M
 WHERE M.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND M.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
