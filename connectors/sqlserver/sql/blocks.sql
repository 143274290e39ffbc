-- Which pages of some allocation units are in the buffer pool, one in so many of them, chosen by a hash of the number, so
-- that no regular load falls through; and what the read of each took.
-- Reads: sys.dm_os_buffer_descriptors. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE STATE).
-- Cost: one pass over the list of all pages in memory, 0.1 to 0.5 us each, whichever are asked for; latched pages are
-- passed over, so that nobody waits.
SELECT b.file_id, b.page_id, b.allocation_unit_id, b.read_microsec
  FROM sys.dm_os_buffer_descriptors AS b
 WHERE b.database_id = DB_ID()
   AND b.allocation_unit_id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
   AND (CONVERT(bigint, b.page_id) * 40503 / 512) % CONVERT(int, ?) = 0
