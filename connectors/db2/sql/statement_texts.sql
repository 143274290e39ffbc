-- The text of one statement; asked for what an outcome lists, where the configuration wants texts.
-- Reads: MON_GET_PKG_CACHE_STMT. Since: 11.1. Privilege: EXECUTE on it. Cost: one pass over the package cache.
SELECT CAST(S.STMT_TEXT AS VARCHAR(2000))
  FROM TABLE(SYSPROC.MON_GET_PKG_CACHE_STMT(NULL, NULL, NULL, -2)) AS S
 WHERE S.STMTID = ?
 FETCH FIRST 1 ROWS ONLY
  WITH UR
