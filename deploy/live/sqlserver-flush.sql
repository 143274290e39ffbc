-- A procedure that drops what is in the server's memory, for the login that runs `hotplace lab prove`: so that waits can be
-- held against what the session itself counted. It is signed, so that the login need not be a DBA. It serves nothing else:
-- every database of the server reads from storage again for a while after each call.
--
--   sqlcmd -C -U sa -v database=scratch login=prover -i sqlserver-flush.sql
--
-- Taken back by: DROP PROCEDURE dbo.hotplace_flush, DROP USER and DROP CERTIFICATE hotplace_flush in the database, DROP LOGIN
-- and DROP CERTIFICATE hotplace_flush in master. Never run by its makers.
:on error exit
USE [$(database)];
GO
CREATE PROCEDURE dbo.hotplace_flush AS
BEGIN
    SET NOCOUNT ON;
    CHECKPOINT;
    DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS;
END;
GO
-- Its private key is thrown away below, once the procedure is signed: nothing else can be signed by it.
CREATE CERTIFICATE hotplace_flush ENCRYPTION BY PASSWORD = 'Aa1 of a key that is removed'
    WITH SUBJECT = 'signs dbo.hotplace_flush', EXPIRY_DATE = '99991231';
ADD SIGNATURE TO dbo.hotplace_flush BY CERTIFICATE hotplace_flush WITH PASSWORD = 'Aa1 of a key that is removed';
ALTER CERTIFICATE hotplace_flush REMOVE PRIVATE KEY;
CREATE USER hotplace_flush FROM CERTIFICATE hotplace_flush;
ALTER ROLE db_backupoperator ADD MEMBER hotplace_flush;
DECLARE @public nvarchar(max) = CONVERT(nvarchar(max), CERTENCODED(CERT_ID(N'hotplace_flush')), 1);
EXEC (N'USE master; CREATE CERTIFICATE hotplace_flush FROM BINARY = ' + @public + N';');
GO
USE master;
GO
CREATE LOGIN hotplace_flush FROM CERTIFICATE hotplace_flush;
GRANT ALTER SERVER STATE TO hotplace_flush;
GO
USE [$(database)];
GO
GRANT EXECUTE ON dbo.hotplace_flush TO [$(login)];
GO
