-- Two tablespaces, and a login whose own schema is the scratch schema: it owns nothing else and has no ANY privilege.
--
--   sqlplus / as sysdba @oracle-setup.sql
--
-- It asks for the password of PROVER. Then oracle-observe.sql PROVER, in the same PDB: see oracle-compose.yaml.
WHENEVER SQLERROR EXIT FAILURE
SET VERIFY OFF
ACCEPT password CHAR PROMPT 'Password for PROVER: ' HIDE
ALTER SESSION SET CONTAINER = FREEPDB1;

CREATE TABLESPACE slow DATAFILE '/slow/slow01.dbf' SIZE 64M AUTOEXTEND ON NEXT 64M MAXSIZE 4G;
CREATE TABLESPACE fast DATAFILE '/fast/fast01.dbf' SIZE 64M AUTOEXTEND ON NEXT 64M MAXSIZE 4G;

CREATE USER prover IDENTIFIED BY "&password" DEFAULT TABLESPACE slow QUOTA UNLIMITED ON slow QUOTA UNLIMITED ON fast;
GRANT CREATE SESSION TO prover;
GRANT CREATE TABLE TO prover;

-- One agent acts at a time: a user lock that ends with its session, and who holds it.
GRANT EXECUTE ON SYS.DBMS_LOCK TO prover;
GRANT SELECT ON SYS.GV_$LOCK TO prover;
GRANT SELECT ON SYS.DBA_TAB_PRIVS TO prover;

-- Its own progress, and whom it waits for.
GRANT SELECT ON SYS.V_$SESSION TO prover;
GRANT SELECT ON SYS.GV_$SESSION_LONGOPS TO prover;
GRANT SELECT ON SYS.GV_$LOCKED_OBJECT TO prover;
GRANT SELECT ON SYS.GV_$TRANSACTION TO prover;
EXIT
