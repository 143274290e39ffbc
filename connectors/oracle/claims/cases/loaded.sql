-- A table that is read by look-ups, one that is read from end to end, and one that is not read at all. Logical reads of
-- segments are sampled by the server, so a real one may tell a little more or less.
-- name: loaded
-- for: demand
-- unit: table {schema}.LOOKED_UP
-- unit: index {schema}.LOOKED_UP_PK INDEX
-- unit: table {schema}.SCANNED
-- unit: table {schema}.UNTOUCHED
-- == make
CREATE TABLE {schema}.LOOKED_UP (
    ID NUMBER(10) NOT NULL,
    FILLER VARCHAR2(800),
    CONSTRAINT LOOKED_UP_PK PRIMARY KEY (ID) USING INDEX TABLESPACE {slow}
) TABLESPACE {slow}

INSERT INTO {schema}.LOOKED_UP
SELECT G, RPAD('f', 800, TO_CHAR(G)) FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 10000)

CREATE TABLE {schema}.SCANNED (ID NUMBER(10) NOT NULL, FILLER VARCHAR2(800)) PCTFREE 0 TABLESPACE {slow}

INSERT INTO {schema}.SCANNED
SELECT G, RPAD('f', 800, TO_CHAR(G)) FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 30000)

CREATE TABLE {schema}.UNTOUCHED (ID NUMBER(10) NOT NULL, FILLER VARCHAR2(800)) TABLESPACE {slow}

INSERT INTO {schema}.UNTOUCHED
SELECT G, RPAD('f', 800, TO_CHAR(G)) FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 1000)
-- == load
-- look_ups 1000 {schema}.LOOKED_UP
SELECT /*+ LEADING(G) USE_NL(T) INDEX(T) NO_MERGE(G) */ SUM(LENGTH(T.FILLER))
  FROM (SELECT 1 + MOD(LEVEL * 4241, 10000) AS ID FROM SYS.DUAL CONNECT BY LEVEL <= 1000) G
  JOIN {schema}.LOOKED_UP T ON T.ID = G.ID

-- scans 1 {schema}.SCANNED
SELECT /*+ FULL(S) NO_PARALLEL(S) */ SUM(LENGTH(S.FILLER)) FROM {schema}.SCANNED S
-- == read
-- == write
-- == drop
DROP TABLE {schema}.LOOKED_UP CASCADE CONSTRAINTS PURGE

DROP TABLE {schema}.SCANNED PURGE

DROP TABLE {schema}.UNTOUCHED PURGE
