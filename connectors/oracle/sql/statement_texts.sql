-- The text of one statement, its first 1,000 bytes; asked for what an outcome lists, where the configuration wants texts.
-- Reads: GV$SQLSTATS. Since: 11.2. Privilege: SELECT on SYS.GV_$SQLSTATS. Cost: a look-up by key on each instance.
SELECT S.SQL_TEXT
  FROM SYS.GV_$SQLSTATS S
 WHERE S.SQL_ID = :id
