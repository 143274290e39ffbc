-- The server's clock in UTC, to tell how far apart two exports are.
-- Reads: SYSIBM.SYSDUMMY1. Since: 9.7. Privilege: none. Cost: one row.
SELECT VARCHAR_FORMAT(CURRENT TIMESTAMP - CURRENT TIMEZONE, 'YYYY-MM-DD HH24:MI:SS') AS TAKEN_AT
  FROM SYSIBM.SYSDUMMY1
