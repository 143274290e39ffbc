-- A scratch database with a filegroup on each disk, and an empty schema of a login that owns nothing else.
--
--   sqlcmd -C -U sa -i sqlserver-setup.sql
--
-- The password of the login comes from the environment variable PROVER_PASSWORD, which sqlcmd reads as $(PROVER_PASSWORD).
-- Then sqlserver-observe.sql and sqlserver-move.sql: see sqlserver-compose.yaml.
:on error exit
CREATE DATABASE scratch;
GO
ALTER DATABASE scratch ADD FILEGROUP slow;
ALTER DATABASE scratch ADD FILEGROUP fast;
GO
ALTER DATABASE scratch ADD FILE (NAME = slow1, FILENAME = '/slow/slow1.ndf', SIZE = 64MB, FILEGROWTH = 64MB) TO FILEGROUP slow;
ALTER DATABASE scratch ADD FILE (NAME = fast1, FILENAME = '/fast/fast1.ndf', SIZE = 64MB, FILEGROWTH = 64MB) TO FILEGROUP fast;
GO
ALTER DATABASE scratch MODIFY FILEGROUP slow DEFAULT;
GO
CREATE LOGIN prover WITH PASSWORD = '$(PROVER_PASSWORD)', DEFAULT_DATABASE = scratch;
GO
USE scratch;
GO
CREATE USER prover FOR LOGIN prover;
GO
CREATE SCHEMA scratch AUTHORIZATION prover;
GO
ALTER USER prover WITH DEFAULT_SCHEMA = scratch;
-- CREATE FUNCTION and ALTER ANY SECURITY POLICY: for a table whose rows a security policy filters.
GRANT CREATE TABLE, CREATE FUNCTION, ALTER ANY SECURITY POLICY TO prover;
GO
