-- Whether this session holds the lease.
-- Reads: APPLOCK_MODE. Since: 2012. Privilege: membership of public. Cost: under a millisecond.
SELECT APPLOCK_MODE(N'public', N'hotplace', N'Session') AS lock_mode
