-- The file of the buffer-pool extension while it is at work (state 5), and its size: pages that were thrown out of memory
-- are read from there. Reads: sys.dm_os_buffer_pool_extension_configuration. Since: 2014. Privilege: VIEW SERVER STATE (2022:
-- VIEW SERVER PERFORMANCE STATE). Cost: one row.
SELECT e.path,
       e.current_size_in_kb
  FROM sys.dm_os_buffer_pool_extension_configuration AS e
 WHERE e.state = 5
