-- A login that may move what was approved. Give it only where hotplace is to act; observing needs none of this.
--
--   sqlcmd -S db.example.com -v database="app" login="hotplace_move" schema="dbo" -i sqlserver-observe.sql
--   sqlcmd -S db.example.com -v database="app" login="hotplace_move" schema="dbo" -i sqlserver-move.sql
--
-- Once for each schema. The first script gives it eyes: progress, locks, whether an interrupted statement still runs.
-- Never make it sysadmin.
:on error exit
USE [$(database)];
GO
-- To rebuild indexes of the schema's tables on another filegroup. There is no narrower right in any version.
GRANT ALTER ON SCHEMA::[$(schema)] TO [$(login)];
-- To move single partitions and large objects, which need a partition scheme. Leave it out if neither is wanted.
GRANT ALTER ANY DATASPACE TO [$(login)];
GO
-- Only for partitions: switched, the one way that reads rows: a partition is copied into a table made for it.
--   GRANT CREATE TABLE TO [$(login)];
--   GRANT SELECT, INSERT ON SCHEMA::[$(schema)] TO [$(login)];
-- Only for hotplace rules propose --table, which sees that the last partition is empty before it splits it:
--   GRANT SELECT ON SCHEMA::[$(schema)] TO [$(login)];
-- Only for move_by: filegroup. DBCC SHRINKFILE asks for the owner of the database and for nothing less:
--   ALTER ROLE db_owner ADD MEMBER [$(login)];
