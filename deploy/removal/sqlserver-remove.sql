-- Takes back what sqlserver-observe.sql and sqlserver-move.sql gave, and drops the login. Stop the agent first.
--
--   sqlcmd -S db.example.com -v database="app" login="hotplace_move" last="yes" -i sqlserver-remove.sql
--
-- Run it once as sysadmin, for each database, with last="no" for all but the last one: the rights on the server are one for
-- all databases, and go with the login. Those in the database go with its user. DROP USER is refused while the user owns a
-- schema or another object, which the scripts never give it.
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
-- VIEW SERVER STATE, VIEW SERVER PERFORMANCE STATE and VIEW ANY DEFINITION go with it.
IF EXISTS (SELECT 1 FROM sys.server_principals WHERE name = N'$(login)' AND N'$(last)' = N'yes')
    DROP LOGIN [$(login)];
GO
