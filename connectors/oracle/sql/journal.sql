-- Whether the journal of an online rebuild is there although no rebuild runs: it was interrupted.
-- Reads: DBA_OBJECTS. Since: 11.2. Privilege: SELECT on it. Cost: by name, milliseconds.
SELECT COUNT(*)
  FROM SYS.DBA_OBJECTS O
 WHERE O.OWNER = :owner AND O.OBJECT_NAME = :name AND O.OBJECT_TYPE = 'TABLE'
