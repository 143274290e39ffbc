-- Settings that decide what can be believed and moved, one row each for each member.
-- Reads: DB_GET_CFG. Since: 9.7. Privilege: EXECUTE on SYSPROC.DB_GET_CFG. Cost: a few rows a member.
SELECT C.NAME,
       C.VALUE
  FROM TABLE(SYSPROC.DB_GET_CFG(-2)) AS C
 WHERE C.NAME IN ('mon_obj_metrics', 'mon_req_metrics', 'hadr_db_role', 'logfilsiz', 'logprimary', 'logsecond',
                  'auto_reval', 'blocknonlogged')
  WITH UR
