-- What pitfalls are tried on: a table that another session uses, and one that is dropped after its move was approved.
-- name: disturbed
-- for: pitfalls
-- unit: table {schema}.BUSY
-- unit: index {schema}.BUSY_PK INDEX
-- unit: table {schema}.DOOMED
-- unit: table {schema}.GROWN
-- == make
CREATE TABLE {schema}.BUSY (
    ID NUMBER(10) NOT NULL,
    FILLER VARCHAR2(60),
    CONSTRAINT BUSY_PK PRIMARY KEY (ID) USING INDEX TABLESPACE {slow}
) TABLESPACE {slow}

INSERT INTO {schema}.BUSY
SELECT G, RPAD('f', 40, TO_CHAR(G)) FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 3000)

BEGIN DBMS_STATS.GATHER_TABLE_STATS(ownname => {owner}, tabname => 'BUSY'); END;

CREATE TABLE {schema}.DOOMED (ID NUMBER(10)) TABLESPACE {slow}

INSERT INTO {schema}.DOOMED SELECT LEVEL FROM SYS.DUAL CONNECT BY LEVEL <= 1000

CREATE TABLE {schema}.GROWN (ID NUMBER(10)) TABLESPACE {slow}

INSERT INTO {schema}.GROWN SELECT LEVEL FROM SYS.DUAL CONNECT BY LEVEL <= 1000
-- == data
SELECT COUNT(*), SUM(ORA_HASH(ID || ' ' || FILLER)) FROM {schema}.BUSY
-- == reading
-- uses {schema}.BUSY
LOCK TABLE {schema}.BUSY IN ROW SHARE MODE
-- == writing
-- uses {schema}.BUSY_PK INDEX
UPDATE {schema}.BUSY SET FILLER = FILLER || '' WHERE ID = 1
-- == grow
-- grows {schema}.GROWN
ALTER TABLE {schema}.GROWN ALLOCATE EXTENT (SIZE 8388608)
-- == vanish
-- drops {schema}.DOOMED
DROP TABLE {schema}.DOOMED PURGE
-- == read
SELECT FILLER FROM {schema}.BUSY WHERE ID = 11
-- == write
UPDATE {schema}.BUSY SET FILLER = FILLER || '' WHERE ID = 11
-- == drop
DROP TABLE {schema}.BUSY CASCADE CONSTRAINTS PURGE

DROP TABLE {schema}.DOOMED PURGE

DROP TABLE {schema}.GROWN PURGE
