-- Locks of tables of the scratch schema that hold up whoever writes: the table's key, the mode in words, its rank (a
-- stronger one is greater), whether it is granted. Of every other session: what ADMIN_MOVE_TABLE locks it may lock in a
-- session of its own, and nobody else uses this schema.
-- Reads: MON_GET_LOCKS, SYSCAT.TABLES. Since: 9.7. Privilege: EXECUTE on MON_GET_LOCKS, or SQLADM. Cost: a row for each
-- lock of the database.
SELECT CAST({key} || '.' ||
            CASE WHEN B.TABNAME = UPPER(B.TABNAME) AND LOCATE(' ', B.TABNAME) = 0 THEN B.TABNAME
                 ELSE '"' || B.TABNAME || '"' END AS VARCHAR(300)) AS UNIT,
       CAST(CASE WHEN L.LOCK_MODE IN ('X', 'Z') THEN 'exclusive' ELSE 'share' END AS VARCHAR(20)) AS MODE_NAME,
       CASE WHEN L.LOCK_MODE IN ('X', 'Z') THEN 2 ELSE 1 END AS RANK_OF_MODE,
       CASE WHEN L.LOCK_STATUS = 'G' THEN 1 ELSE 0 END AS GRANTED
  FROM TABLE(SYSPROC.MON_GET_LOCKS('', -2)) AS L
  JOIN SYSCAT.TABLES AS B ON B.TBSPACEID = L.TBSP_ID AND B.TABLEID = L.TAB_FILE_ID
 WHERE B.TABSCHEMA = {literal}
   AND L.LOCK_OBJECT_TYPE = 'TABLE'
   AND L.LOCK_MODE IN ('S', 'SIX', 'U', 'X', 'Z')
   AND L.APPLICATION_HANDLE <> SYSPROC.MON_GET_APPLICATION_HANDLE()
  WITH UR
