-- Two tables, one of which refers to the other by a foreign key; both move.
-- name: referring
-- unit: table {schema}.KEPT
-- unit: index {schema}.KEPT_PK INDEX
-- unit: table {schema}.LINES
-- == make
CREATE TABLE {schema}.KEPT (ID NUMBER(10) NOT NULL, CONSTRAINT KEPT_PK PRIMARY KEY (ID) USING INDEX TABLESPACE {slow})
TABLESPACE {slow}

INSERT INTO {schema}.KEPT SELECT LEVEL FROM SYS.DUAL CONNECT BY LEVEL <= 3000

CREATE TABLE {schema}.LINES (
    KEPT NUMBER(10) CONSTRAINT LINES_KEPT REFERENCES {schema}.KEPT (ID) ON DELETE CASCADE,
    LINE VARCHAR2(40)
) TABLESPACE {slow}

INSERT INTO {schema}.LINES
SELECT 1 + MOD(G, 3000), RPAD('l', 30, TO_CHAR(G)) FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 6000)

BEGIN DBMS_STATS.GATHER_TABLE_STATS(ownname => {owner}, tabname => 'KEPT'); END;

BEGIN DBMS_STATS.GATHER_TABLE_STATS(ownname => {owner}, tabname => 'LINES'); END;
-- == data
SELECT COUNT(*), SUM(ID) FROM {schema}.KEPT

SELECT COUNT(*), SUM(ORA_HASH(KEPT || ' ' || LINE)) FROM {schema}.LINES
-- == read
SELECT COUNT(*) FROM {schema}.KEPT WHERE ID = 9
-- == write
UPDATE {schema}.LINES SET LINE = LINE || '' WHERE KEPT = 9
-- == drop
DROP TABLE {schema}.LINES PURGE

DROP TABLE {schema}.KEPT CASCADE CONSTRAINTS PURGE
