-- Takes back what oracle-observe.sql and oracle-move.sql gave, and drops the login. Stop the agent first.
--
--   sqlplus / as sysdba @oracle-remove.sql HOTPLACE_MOVE APP FAST_DATA
--   sqlplus / as sysdba @oracle-remove.sql HOTPLACE none none
--
-- Once in each PDB, and for each owner and tablespace. All grants of the scripts are on the login itself, so they go with
-- it. The owner's quota stays as it is: its segments may lie in the tablespace by now. To take it back where none does:
--   ALTER USER app QUOTA 0 ON fast_data;
-- The user is dropped without CASCADE: if it owns anything, which the scripts never give it, Oracle refuses (ORA-01922).
DEFINE login = &1
DEFINE owner = &2
DEFINE space = &3
SET VERIFY OFF
WHENEVER SQLERROR CONTINUE

-- Segments of the owner that are in the tablespace: while there are any, it needs its quota there.
SELECT COUNT(*) AS segments FROM DBA_SEGMENTS WHERE OWNER = '&owner' AND TABLESPACE_NAME = '&space';

-- Only where the login was a proxy for the owner:
--   ALTER USER app REVOKE CONNECT THROUGH hotplace_move;

DROP USER &login;
