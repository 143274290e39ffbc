-- Cumulative figures of the buffer pool and of this database; names ending in /sec are totals all the same, told by
-- cntr_type 272696576. The text columns are padded with blanks, and the object's name begins with the instance's.
-- Reads: sys.dm_os_performance_counters, sys.databases. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE
-- STATE). Cost: about a thousand rows are looked through. No row at all: registering the counters failed (error 3409).
-- Managed Instance and Azure SQL Database call a database by its physical name there, a GUID.
SELECT RTRIM(c.counter_name) AS counter_name,
       SUM(c.cntr_value) AS cntr_value
  FROM sys.dm_os_performance_counters AS c
 CROSS JOIN (
SELECT d.physical_database_name AS name --@15 d.name
  FROM sys.databases AS d
 WHERE d.database_id = DB_ID()) AS h
 WHERE c.cntr_type = 272696576
   AND ((RTRIM(c.object_name) LIKE '%:Buffer Manager'
         AND RTRIM(c.counter_name) IN ('Page lookups/sec', 'Page reads/sec', 'Readahead pages/sec',
                                       'Extension page reads/sec'))
     OR (RTRIM(c.object_name) LIKE '%:Databases'
         AND RTRIM(c.counter_name) = 'Transactions/sec'
         AND RTRIM(c.instance_name) IN (DB_NAME(), h.name)))
 GROUP BY RTRIM(c.counter_name)
