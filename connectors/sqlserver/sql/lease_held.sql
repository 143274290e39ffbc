-- Whether this session holds the lease.
-- Reads: APPLOCK_MODE. Since: 2012. Privilege: none. Cost: under a millisecond.
SELECT APPLOCK_MODE(CASE WHEN DATABASE_PRINCIPAL_ID(USER_NAME()) IS NULL THEN N'public' ELSE USER_NAME() END,
                    N'hotplace', N'Session') AS lock_mode
