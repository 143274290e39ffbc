-- A heap table with everything that usually hangs on one: constraints, a default, an index of an expression, one in
-- descending order, comments, rights on the table and on a column, statistics.
-- name: heap
-- quick: yes
-- unit: table {schema}.HEAP
-- unit: index {schema}.HEAP_PK INDEX
-- unit: index {schema}.HEAP_LOWER INDEX
-- unit: index {schema}.HEAP_OPENED INDEX
-- == make
CREATE TABLE {schema}.HEAP (
    ID NUMBER(10) NOT NULL,
    CUSTOMER NUMBER(10) NOT NULL CONSTRAINT HEAP_CUSTOMER CHECK (CUSTOMER >= 0),
    STATE VARCHAR2(30) DEFAULT 'open' NOT NULL,
    TOTAL NUMBER(12, 2),
    OPENED DATE DEFAULT SYSDATE,
    NOTE VARCHAR2(200),
    CONSTRAINT HEAP_PK PRIMARY KEY (ID) USING INDEX TABLESPACE {slow}
) PCTFREE 20 TABLESPACE {slow}

INSERT INTO {schema}.HEAP (ID, CUSTOMER, TOTAL, STATE, OPENED, NOTE)
SELECT G, MOD(G, 97), G / 4, 'Open', DATE '2026-01-01' + MOD(G, 300), RPAD('n', 60, TO_CHAR(G))
  FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 4000)

CREATE INDEX {schema}.HEAP_LOWER ON {schema}.HEAP (LOWER(STATE), CUSTOMER) TABLESPACE {slow}

CREATE INDEX {schema}.HEAP_OPENED ON {schema}.HEAP (OPENED DESC) TABLESPACE {slow}

COMMENT ON TABLE {schema}.HEAP IS 'it''s a heap'

COMMENT ON COLUMN {schema}.HEAP.NOTE IS 'a note'

GRANT SELECT, UPDATE (NOTE) ON {schema}.HEAP TO PUBLIC

BEGIN DBMS_STATS.GATHER_TABLE_STATS(ownname => {owner}, tabname => 'HEAP'); END;
-- == data
SELECT COUNT(*), SUM(ORA_HASH(ID || ' ' || CUSTOMER || ' ' || STATE || ' ' || TOTAL || ' ' || NOTE)) FROM {schema}.HEAP

SELECT COUNT(*), SUM(ORA_HASH(TO_CHAR(OPENED, 'YYYY-MM-DD HH24:MI:SS'))) FROM {schema}.HEAP
-- == read
SELECT NOTE FROM {schema}.HEAP WHERE ID = 33
-- == write
UPDATE {schema}.HEAP SET NOTE = NOTE || '' WHERE ID = 33
-- == drop
DROP TABLE {schema}.HEAP CASCADE CONSTRAINTS PURGE
