-- Takes back what sqlserver-observe.sql and sqlserver-move.sql gave, and drops the login. Stop the agent first.
--
--   sqlcmd -S db.example.com -v database="app" login="hotplace_move" -i sqlserver-remove.sql
--
-- Run it once as sysadmin, for each database; the rights on the server and in the database go with user and login. DROP
-- USER is refused while the user owns a schema or another object, which the scripts never give it. The login itself is
-- dropped by the last line, once no database has a user of it: run that line alone after the last database.
:on error exit
USE [$(database)];
GO
IF IS_ROLEMEMBER(N'db_owner', N'$(login)') = 1
    ALTER ROLE db_owner DROP MEMBER [$(login)];
IF EXISTS (SELECT 1 FROM sys.database_principals WHERE name = N'$(login)')
    DROP USER [$(login)];
GO
USE [master];
GO
IF CONVERT(int, SERVERPROPERTY('ProductMajorVersion')) >= 16
    EXEC (N'REVOKE VIEW SERVER PERFORMANCE STATE FROM [$(login)]');
ELSE
    REVOKE VIEW SERVER STATE FROM [$(login)];
REVOKE VIEW ANY DEFINITION FROM [$(login)];
GO
-- After the last database:  DROP LOGIN [hotplace_move];
