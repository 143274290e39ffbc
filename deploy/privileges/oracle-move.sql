-- A login that may move what was approved. Give it only where hotplace is to act; observing needs none of this.
--
--   sqlplus / as sysdba @oracle-observe.sql HOTPLACE_MOVE
--   sqlplus / as sysdba @oracle-move.sql HOTPLACE_MOVE APP FAST_DATA
--
-- Once in each PDB, for each owner of objects and each tablespace: the fast one, and the one they may have to go back to.
--
-- Narrower ways than the two ANY privileges, which reach every schema but that of SYS:
--   23ai    GRANT ALTER ANY TABLE, ALTER ANY INDEX ON SCHEMA app TO hotplace_move;
--   tables  GRANT ALTER ON app.orders TO hotplace_move;     (there is no such grant for indexes)
--   proxy   ALTER USER app GRANT CONNECT THROUGH hotplace_move;   with  user: hotplace_move[app]  in the configuration:
--           the session is then the owner itself and needs no ANY privilege, but app needs the grants of
--           oracle-observe.sql and the SELECTs below.
-- Whole tablespaces (move_by: tablespace) need  GRANT ALTER DATABASE TO hotplace_move;  instead of the two, which is far
-- broader: it reaches everything that ALTER DATABASE does. Give it only where tablespaces are really moved.
DEFINE login = &1
DEFINE owner = &2
DEFINE space = &3
SET VERIFY OFF
WHENEVER SQLERROR CONTINUE

-- 11.2 only, for online rebuilds of indexes in other schemas, which make a journal table there; else they are offline:
--   GRANT CREATE ANY TABLE, CREATE ANY INDEX TO hotplace_move;

GRANT ALTER ANY TABLE TO &login;
GRANT ALTER ANY INDEX TO &login;

-- The owner of a segment needs the room, whoever moves it.
ALTER USER &owner QUOTA UNLIMITED ON &space;

-- One agent acts at a time: a user lock that ends with its session, and who holds it.
GRANT EXECUTE ON SYS.DBMS_LOCK TO &login;
GRANT SELECT ON SYS.GV_$LOCK TO &login;
GRANT SELECT ON SYS.DBA_TAB_PRIVS TO &login;

-- Its own progress, and whom it waits for.
GRANT SELECT ON SYS.V_$SESSION TO &login;
GRANT SELECT ON SYS.GV_$SESSION_LONGOPS TO &login;
GRANT SELECT ON SYS.GV_$LOCKED_OBJECT TO &login;
GRANT SELECT ON SYS.GV_$TRANSACTION TO &login;
