-- The server's clock in UTC, to tell how far apart two exports are.
-- Reads: nothing. Since: 14. Privilege: none. Cost: nothing.
SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') AS taken_at
