-- Who answers, and which database this is. The broker's GUID is the same on every replica of an availability group.
-- Reads: SERVERPROPERTY, sys.databases. Since: 2012. Privilege: none. Cost: under a millisecond.
SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')) AS version,
       CONVERT(int, SERVERPROPERTY('EngineEdition')) AS engine_edition,
       CONVERT(nvarchar(128), SERVERPROPERTY('Edition')) AS edition,
       CONVERT(int, SERVERPROPERTY('IsClustered')) AS is_clustered,
       d.name AS database_name,
       CONVERT(nvarchar(36), d.service_broker_guid) AS broker_guid,
       CONVERT(nvarchar(36), d.group_database_id) AS group_database_id,
       CONVERT(nvarchar(128), DATABASEPROPERTYEX(d.name, 'Updateability')) AS updateability
  FROM sys.databases AS d
 WHERE d.database_id = DB_ID()
