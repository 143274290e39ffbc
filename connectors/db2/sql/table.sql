-- One table as a move needs to know it. Reads: SYSCAT.TABLES. Since: 9.7. Privilege: SELECT. Cost: one row.
SELECT B.TABSCHEMA,
       B.TABNAME,
       B.TYPE,
       B.STATUS,
       B.ACCESS_MODE,
       B.TBSPACE,
       B.INDEX_TBSPACE,
       B.LONG_TBSPACE,
       B.CARD,
       B.TABLEORG, -- since 10.5, CHAR(1)
       B.TEMPORALTYPE, -- since 10.1, CHAR(1)
       B.CONTROL, -- since 10.1, CHAR(1)
       B.PROTECTIONGRANULARITY,
       B.DATACAPTURE,
       B.CHECKCOUNT,
       B.OWNER,
       B.STATS_TIME
  FROM SYSCAT.TABLES AS B
 WHERE B.TABSCHEMA = CAST(? AS VARCHAR(128))
   AND B.TABNAME = CAST(? AS VARCHAR(128))
  WITH UR
