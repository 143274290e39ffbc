-- Give the lease up.
-- Reads: nothing. Since: 2012. Privilege: membership of public. Cost: under a millisecond.
DECLARE @answer int;
EXEC @answer = sys.sp_releaseapplock @Resource = N'hotplace', @LockOwner = N'Session';
SELECT @answer AS answer
