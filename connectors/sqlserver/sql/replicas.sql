-- Replicas of this database: a move floods the log, and all of it goes to them. Queues are KiB.
-- Reads: sys.dm_hadr_database_replica_states. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE
-- STATE). Cost: a row for each replica.
SELECT CONVERT(int, h.is_local) AS is_local,
       CONVERT(int, h.is_suspended) AS is_suspended,
       h.log_send_queue_size,
       h.redo_queue_size,
       CONVERT(int, h.is_primary_replica) AS is_primary_replica --@12 NULL
  FROM sys.dm_hadr_database_replica_states AS h
 WHERE h.database_id = DB_ID()
