-- A table of known size that one session reads, after the buffer cache was flushed by a procedure that the DBA has installed.
-- What the session itself counts is in V$MYSTAT and V$SESSION_EVENT, which no query of the connector reads.
-- name: truth
-- for: truth
-- unit: table {schema}.COLD
-- unit: index {schema}.COLD_PK INDEX
-- == make
CREATE TABLE {schema}.COLD (
    ID NUMBER(10) NOT NULL,
    FILLER VARCHAR2(3500),
    CONSTRAINT COLD_PK PRIMARY KEY (ID) USING INDEX TABLESPACE {slow}
) TABLESPACE {slow}

INSERT INTO {schema}.COLD
SELECT G, RPAD('f', 3500, TO_CHAR(G)) FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 3000)
-- == flush
BEGIN HOTPLACE_FLUSH.FLUSH_CACHE(); END;
-- == load
-- look-ups, 1500: {schema}.COLD; {schema}.COLD_PK INDEX
SELECT /*+ LEADING(G) USE_NL(T) INDEX(T) NO_MERGE(G) */ SUM(LENGTH(T.FILLER))
  FROM (SELECT 1 + MOD(LEVEL * 1237, 3000) AS ID FROM SYS.DUAL CONNECT BY LEVEL <= 3000) G
  JOIN {schema}.COLD T ON T.ID = G.ID

-- a scan, 1500: {schema}.COLD
SELECT /*+ FULL(S) NO_PARALLEL(S) */ SUM(LENGTH(S.FILLER)) FROM {schema}.COLD S
-- == read
-- == write
-- == drop
DROP TABLE {schema}.COLD CASCADE CONSTRAINTS PURGE
