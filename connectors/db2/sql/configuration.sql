-- Settings that decide what can be believed and moved, one row each for each member. Of the archive of logs only whether there
-- is one: its place is nobody's matter.
-- Reads: DB_GET_CFG. Since: 9.7. Privilege: EXECUTE on SYSPROC.DB_GET_CFG. Cost: a few rows a member.
SELECT C.NAME,
       CASE WHEN C.NAME IN ('logarchmeth1', 'logarchmeth2') AND C.VALUE <> 'OFF' THEN 'ON' ELSE C.VALUE END AS VALUE
  FROM TABLE(SYSPROC.DB_GET_CFG(-2)) AS C
 WHERE C.NAME IN ('mon_obj_metrics', 'mon_req_metrics', 'hadr_db_role', 'logfilsiz', 'logprimary', 'logsecond',
                  'auto_reval', 'blocknonlogged', 'logarchmeth1', 'logarchmeth2')
  WITH UR
