-- Whether the session that holds the lease still answers. Reads: HOTPLACE.LEASE, which is empty. Since: 9.7.
-- Privilege: SELECT on it. Cost: none.
SELECT COUNT(*)
  FROM HOTPLACE.LEASE AS L
