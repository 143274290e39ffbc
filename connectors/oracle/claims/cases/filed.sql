-- A table in the tablespace that is given away, whose data files go to another folder and come back: move_by: tablespace.
-- Moving a data file online needs 12.1 and Enterprise Edition.
-- name: files
-- with: files
-- unit: table {schema}.FILED
-- unit: index {schema}.FILED_PK INDEX
-- == make
CREATE TABLE {schema}.FILED (
    ID NUMBER(10) NOT NULL,
    NOTE VARCHAR2(200),
    CONSTRAINT FILED_PK PRIMARY KEY (ID) USING INDEX TABLESPACE {throw}
) TABLESPACE {throw}

INSERT INTO {schema}.FILED (ID, NOTE)
SELECT G, RPAD('n', 60, TO_CHAR(G)) FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 4000)
-- == data
SELECT COUNT(*), SUM(ORA_HASH(ID || ' ' || NOTE)) FROM {schema}.FILED
-- == read
SELECT NOTE FROM {schema}.FILED WHERE ID = 33
-- == write
UPDATE {schema}.FILED SET NOTE = NOTE || '' WHERE ID = 33
-- == drop
DROP TABLE {schema}.FILED CASCADE CONSTRAINTS PURGE
