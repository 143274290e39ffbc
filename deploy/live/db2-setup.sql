-- Two storage groups with a table space each, and an empty schema of a login that owns nothing else.
--
--   db2 connect to SCRATCH && db2 -stvf db2-setup.sql         as the instance owner; PROVER is a user of the system
--
-- Then db2-observe.sql and db2-move.sql with PROVER in the place of their users: see db2-compose.yaml.
CREATE STOGROUP SLOW ON '/slow/data';
CREATE STOGROUP FAST ON '/fast/data';
-- Smaller than the table of 3,000 pages whose look-ups are held against the session's own figures.
CREATE BUFFERPOOL SMALL IMMEDIATE SIZE 500 PAGESIZE 4096;
CREATE TABLESPACE TS_SLOW PAGESIZE 4096 MANAGED BY AUTOMATIC STORAGE USING STOGROUP SLOW INITIALSIZE 32 M INCREASESIZE 32 M BUFFERPOOL SMALL;
CREATE TABLESPACE TS_FAST PAGESIZE 4096 MANAGED BY AUTOMATIC STORAGE USING STOGROUP FAST INITIALSIZE 32 M INCREASESIZE 32 M;
GRANT CONNECT, CREATETAB ON DATABASE TO USER PROVER;
GRANT USE OF TABLESPACE TS_SLOW TO USER PROVER;
GRANT USE OF TABLESPACE TS_FAST TO USER PROVER;
CREATE SCHEMA SCRATCH AUTHORIZATION PROVER;
