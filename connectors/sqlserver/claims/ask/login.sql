-- What this login is and owns that it must not, one sentence a row: prove drops and moves, so it takes no login that can
-- do more than that in its scratch schema; unless the database is given away with one of its filegroups.
-- Reads: IS_SRVROLEMEMBER, IS_ROLEMEMBER, HAS_PERMS_BY_NAME, sys.schemas. Since: 2012. Privilege: none. Cost: under a
-- millisecond.
SELECT CONCAT(SUSER_SNAME(), ' is sysadmin') AS why
 WHERE IS_SRVROLEMEMBER('sysadmin') = 1
UNION ALL
SELECT CONCAT(SUSER_SNAME(), ' may control the server')
 WHERE HAS_PERMS_BY_NAME(NULL, NULL, 'CONTROL SERVER') = 1
   AND IS_SRVROLEMEMBER('sysadmin') = 0
UNION ALL
SELECT CONCAT(SUSER_SNAME(), ' owns the database: it is in db_owner')
 WHERE IS_ROLEMEMBER('db_owner') = 1
   AND {given} = 0
   AND IS_SRVROLEMEMBER('sysadmin') = 0
UNION ALL
SELECT CONCAT(SUSER_SNAME(), ' may alter whatever is in the database, not only what is in its schema')
 WHERE HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'ALTER') = 1
   AND {given} = 0
   AND IS_ROLEMEMBER('db_owner') = 0
   AND IS_SRVROLEMEMBER('sysadmin') = 0
UNION ALL
SELECT CONCAT(SUSER_SNAME(), ' also owns the schema ', QUOTENAME(s.name))
  FROM sys.schemas AS s
 WHERE s.principal_id = DATABASE_PRINCIPAL_ID()
   AND s.name <> {literal}
   AND IS_SRVROLEMEMBER('sysadmin') = 0
