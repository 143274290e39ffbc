-- Whether this database is being encrypted, decrypted or given another key just now (2, 5, 4; 6: its protector): no file can
-- be removed meanwhile. No row: it has no key.
-- Reads: sys.dm_database_encryption_keys. Since: 2012. Privilege: VIEW SERVER STATE (2022: VIEW SERVER SECURITY STATE).
-- Cost: a row for each database that has a key.
SELECT k.encryption_state
  FROM sys.dm_database_encryption_keys AS k
 WHERE k.database_id = DB_ID()
