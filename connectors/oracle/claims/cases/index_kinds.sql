-- A table with an index of each kind: unique, compressed, in reverse key order.
-- name: index_kinds
-- unit: table {schema}.KINDS
-- unit: index {schema}.KINDS_UNIQUE INDEX
-- unit: index {schema}.KINDS_COMPRESSED INDEX
-- unit: index {schema}.KINDS_REVERSE INDEX
-- == make
CREATE TABLE {schema}.KINDS (ID NUMBER(10) NOT NULL, GRP NUMBER(5), WORD VARCHAR2(30)) TABLESPACE {slow}

INSERT INTO {schema}.KINDS
SELECT G, MOD(G, 9), RPAD('w', 12, TO_CHAR(G)) FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 4000)

CREATE UNIQUE INDEX {schema}.KINDS_UNIQUE ON {schema}.KINDS (ID) TABLESPACE {slow}

CREATE INDEX {schema}.KINDS_COMPRESSED ON {schema}.KINDS (GRP, ID) COMPRESS 1 TABLESPACE {slow}

CREATE INDEX {schema}.KINDS_REVERSE ON {schema}.KINDS (WORD) REVERSE TABLESPACE {slow}

BEGIN DBMS_STATS.GATHER_TABLE_STATS(ownname => {owner}, tabname => 'KINDS'); END;
-- == data
SELECT COUNT(*), SUM(ORA_HASH(ID || ' ' || GRP || ' ' || WORD)) FROM {schema}.KINDS
-- == read
SELECT WORD FROM {schema}.KINDS WHERE ID = 33
-- == write
UPDATE {schema}.KINDS SET WORD = WORD || '' WHERE ID = 33
-- == drop
DROP TABLE {schema}.KINDS CASCADE CONSTRAINTS PURGE
