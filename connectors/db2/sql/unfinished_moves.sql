-- Moves that were begun and not finished, by whomever. Reads: SYSTOOLS.ADMIN_MOVE_TABLE. Since: 9.7.
-- Privilege: SELECT on it. Cost: a scan of a small table.
SELECT M.TABSCHEMA,
       M.TABNAME,
       CAST(M."VALUE" AS VARCHAR(128))
  FROM SYSTOOLS.ADMIN_MOVE_TABLE AS M
 WHERE M."KEY" = 'STATUS'
  WITH UR
