-- Take the lease: an exclusive lock of an empty table that db2-observe.sql makes, kept by an open
-- transaction that never writes, so it pins no log. It ends with its session.
-- Reads: HOTPLACE.LEASE. Since: 9.7. Privilege: SELECT on it. Cost: none.
LOCK TABLE HOTPLACE.LEASE IN EXCLUSIVE MODE
