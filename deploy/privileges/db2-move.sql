-- What the login that carries out approved moves needs beyond db2-observe.sql. Give it to a user of its own: written here
-- as HOTMOVE, `move_connection` in the configuration. A move that this user has begun only this user can go on with.
--
--   db2 connect to APP && db2 -tvf db2-move.sql
--
-- Run it as a user with DBADM and ACCESSCTRL.

-- ADMIN_MOVE_TABLE (move_by: table or both). SQLADM is the smaller of the two authorities it accepts.
GRANT SQLADM ON DATABASE TO USER HOTMOVE;
GRANT CREATETAB ON DATABASE TO USER HOTMOVE;
-- There are two of this name, so it says which: the one of eleven parameters, whatever their lengths.
GRANT EXECUTE ON PROCEDURE SYSPROC.ADMIN_MOVE_TABLE
  (VARCHAR(), VARCHAR(), VARCHAR(), VARCHAR(), VARCHAR(), VARCHAR(), VARCHAR(), VARCHAR(), VARCHAR(), VARCHAR(), VARCHAR())
  TO USER HOTMOVE;

-- Of every schema and table space that may be moved in; one line each:
--   GRANT CREATEIN, ALTERIN, DROPIN ON SCHEMA APP TO USER HOTMOVE;
--   GRANT SELECT, INSERT, ALTER, INDEX ON TABLE APP.ORDERS TO USER HOTMOVE;
--   GRANT USE OF TABLESPACE TS_FAST TO USER HOTMOVE;
-- with foreign_keys: drop_and_add also ALTER on the other table of each key, and REFERENCES on its parent:
--   GRANT ALTER ON TABLE APP.ORDER_LINES TO USER HOTMOVE;
--   GRANT REFERENCES ON TABLE APP.ORDERS TO USER HOTMOVE;

-- The protocol of ADMIN_MOVE_TABLE. The procedure makes it at its first call, and nothing can be granted on it before:
-- so an empty table is moved to where it is. A login that may not read it moves no table, since an open move would look
-- like none.
CREATE TABLE HOTPLACE.FIRST_MOVE (N INTEGER NOT NULL PRIMARY KEY);
CALL SYSPROC.ADMIN_MOVE_TABLE('HOTPLACE', 'FIRST_MOVE', '', '', '', '', '', '', '', '', 'MOVE');
DROP TABLE HOTPLACE.FIRST_MOVE;
GRANT SELECT ON TABLE SYSTOOLS.ADMIN_MOVE_TABLE TO USER HOTMOVE;
GRANT SELECT ON TABLE SYSTOOLS.ADMIN_MOVE_TABLE TO USER HOTPLACE;

-- Storage groups (move_by: both or table_space). ALTER TABLESPACE wants SYSCTRL or SYSADM, a group of the operating
-- system named by the instance and not to be granted in SQL. It is wide: it may create and drop databases. Think twice.
--   db2 get dbm cfg | grep SYSCTRL_GROUP
--   usermod -aG <that group> hotmove
