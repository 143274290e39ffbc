-- Give the lease up.
-- Reads: nothing. Since: 2012. Privilege: none. Cost: under a millisecond.
DECLARE @answer int, @principal sysname = CASE WHEN DATABASE_PRINCIPAL_ID(USER_NAME()) IS NULL THEN N'public' ELSE USER_NAME() END;
EXEC @answer = sys.sp_releaseapplock @Resource = N'hotplace', @LockOwner = N'Session', @DbPrincipal = @principal;
SELECT @answer AS answer
