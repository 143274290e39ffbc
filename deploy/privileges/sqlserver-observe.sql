-- A login that may look and not touch: enough for `hotplace run` at the level observe, and for planning.
--
--   sqlcmd -S db.example.com -v database="app" login="hotplace" -i sqlserver-observe.sql
--
-- Run it once as sysadmin, for each database. Make the login first, so that its password shows nowhere here:
--   CREATE LOGIN hotplace WITH PASSWORD = '...';            or from Windows: CREATE LOGIN [DOMAIN\hotplace] FROM WINDOWS;
-- SQL Server 2012 to 2025 and Azure SQL Managed Instance. SQL Server has no read-only session: what this login cannot
-- change is what it has no right to, so give it nothing more.
:on error exit
USE [master];
GO
-- Counters of files and tables, free space, other sessions. 2022 has a narrower right for that, which is enough; as older
-- servers refuse a batch with its name in it, it is a batch of its own.
IF CONVERT(int, SERVERPROPERTY('ProductMajorVersion')) >= 16
    EXEC (N'GRANT VIEW SERVER PERFORMANCE STATE TO [$(login)]');
ELSE
    GRANT VIEW SERVER STATE TO [$(login)];
-- Names, indexes and the filters of indexes. No rows of any table.
GRANT VIEW ANY DEFINITION TO [$(login)];
GO
USE [$(database)];
GO
IF NOT EXISTS (SELECT 1 FROM sys.database_principals WHERE name = N'$(login)')
    CREATE USER [$(login)] FOR LOGIN [$(login)];
GO
