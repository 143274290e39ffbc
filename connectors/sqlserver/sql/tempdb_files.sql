-- Files of tempdb, which a person may move. Azure SQL Database does not have the view.
-- Reads: sys.master_files. Since: 2012. Privilege: VIEW ANY DEFINITION; without it there are no rows. Cost: a row for
-- each file of the server.
SELECT f.name AS file_name,
       f.physical_name
  FROM sys.master_files AS f
 WHERE f.database_id = 2
 ORDER BY f.file_id
