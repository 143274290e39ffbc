-- The server's clock in UTC, to tell how far apart two exports are.
-- Reads: nothing. Since: 2012. Privilege: none. Cost: nothing.
SELECT CONVERT(nvarchar(30), SYSUTCDATETIME(), 126) AS taken_at
