-- The server's clock in UTC, to tell how far apart two exports are.
-- Reads: SYS.DUAL. Since: 11.2. Privilege: none. Cost: nothing.
SELECT TO_CHAR(SYS_EXTRACT_UTC(SYSTIMESTAMP), 'YYYY-MM-DD HH24:MI:SS') AS taken_at
  FROM SYS.DUAL
