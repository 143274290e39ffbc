-- Sets the search_path of the session for looks at blocks; and the size of a block and of the buffer pool.
-- Reads: pg_settings. Since: 14. Privilege: none. Cost: a millisecond.
SELECT current_setting('block_size')::bigint AS block_bytes,
       (SELECT s.setting::bigint FROM pg_catalog.pg_settings AS s WHERE s.name = 'shared_buffers') AS buffers,
       set_config('search_path', %(path)s, false) AS search_path
