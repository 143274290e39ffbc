-- What the write-ahead log takes on its volume now: its files, also those that are kept to be used again.
-- Reads: pg_ls_waldir. Since: 14. Privilege: pg_monitor. Cost: the server looks at each file of pg_wal once.
SELECT coalesce(sum(f.size), 0)::bigint AS bytes
  FROM pg_catalog.pg_ls_waldir() AS f
