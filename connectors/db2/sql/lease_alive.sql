-- Whether the session that holds the lease still answers, and for doctor whether it is there at all. Uncommitted read waits
-- for no lock but one that alters the table: doctor may look while an agent holds the lease.
-- Reads: HOTPLACE.LEASE, which is empty. Since: 9.7. Privilege: SELECT on it. Cost: none.
SELECT COUNT(*)
  FROM HOTPLACE.LEASE AS L
  WITH UR
