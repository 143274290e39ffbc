-- A table partitioned by range with a local and a global index: each partition, and each piece of the local index, moves
-- alone.
-- name: partitioned
-- unit: table partition {schema}.EVENTS PARTITION JAN
-- unit: table partition {schema}.EVENTS PARTITION FEB
-- unit: table partition {schema}.EVENTS PARTITION REST
-- unit: index partition {schema}.EVENTS_DAY INDEX PARTITION JAN
-- unit: index partition {schema}.EVENTS_DAY INDEX PARTITION FEB
-- unit: index partition {schema}.EVENTS_DAY INDEX PARTITION REST
-- unit: index {schema}.EVENTS_ID INDEX
-- == make
CREATE TABLE {schema}.EVENTS (ID NUMBER(10) NOT NULL, DAY DATE NOT NULL, WHAT VARCHAR2(40))
TABLESPACE {slow}
PARTITION BY RANGE (DAY) (
    PARTITION JAN VALUES LESS THAN (DATE '2026-02-01') TABLESPACE {slow},
    PARTITION FEB VALUES LESS THAN (DATE '2026-03-01') TABLESPACE {slow},
    PARTITION REST VALUES LESS THAN (MAXVALUE) TABLESPACE {slow}
)

INSERT INTO {schema}.EVENTS
SELECT G, DATE '2026-01-01' + MOD(G, 90), RPAD('e', 30, TO_CHAR(G))
  FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 9000)

CREATE INDEX {schema}.EVENTS_DAY ON {schema}.EVENTS (DAY) LOCAL

CREATE UNIQUE INDEX {schema}.EVENTS_ID ON {schema}.EVENTS (ID) TABLESPACE {slow}

BEGIN DBMS_STATS.GATHER_TABLE_STATS(ownname => {owner}, tabname => 'EVENTS'); END;
-- == data
SELECT COUNT(*), SUM(ORA_HASH(ID || ' ' || TO_CHAR(DAY, 'YYYY-MM-DD') || ' ' || WHAT)) FROM {schema}.EVENTS
-- == read
SELECT COUNT(*) FROM {schema}.EVENTS WHERE DAY = DATE '2026-02-03'
-- == write
UPDATE {schema}.EVENTS SET WHAT = WHAT || '' WHERE ID = 33
-- == drop
DROP TABLE {schema}.EVENTS PURGE
