-- Take the lease if it is free: an application lock of this database that ends with its session. 0 and 1 mean taken.
-- Reads: nothing. Since: 2012. Privilege: membership of public. Cost: under a millisecond.
DECLARE @answer int;
EXEC @answer = sys.sp_getapplock @Resource = N'hotplace', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0;
SELECT @answer AS answer
