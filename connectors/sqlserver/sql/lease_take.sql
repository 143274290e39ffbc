-- Take the lease if it is free: an application lock of this database that ends with its session, in the name of this user, so
-- that no other user but db_owner can take it. Who comes by a Windows group has no name of his own: public. 0 and 1 mean taken.
-- Reads: nothing. Since: 2012. Privilege: none. Cost: under a millisecond.
DECLARE @answer int, @principal sysname = CASE WHEN DATABASE_PRINCIPAL_ID(USER_NAME()) IS NULL THEN N'public' ELSE USER_NAME() END;
EXEC @answer = sys.sp_getapplock @Resource = N'hotplace', @LockMode = N'Exclusive', @LockOwner = N'Session',
     @LockTimeout = 0, @DbPrincipal = @principal;
SELECT @answer AS answer
