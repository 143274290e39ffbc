-- An index-organised table with an overflow segment, which moves with it, and a secondary index.
-- name: index_organised
-- unit: table {schema}.WORDS
-- unit: index {schema}.WORDS_TIMES INDEX
-- == make
CREATE TABLE {schema}.WORDS (
    WORD VARCHAR2(40) NOT NULL,
    TIMES NUMBER(10),
    EXAMPLE VARCHAR2(400),
    CONSTRAINT WORDS_PK PRIMARY KEY (WORD)
) ORGANIZATION INDEX TABLESPACE {slow} PCTTHRESHOLD 10 INCLUDING TIMES OVERFLOW TABLESPACE {slow}

INSERT INTO {schema}.WORDS
SELECT RPAD('w', 20, TO_CHAR(G)) || TO_CHAR(G), MOD(G, 50), RPAD('e', 300, TO_CHAR(G))
  FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 2000)

CREATE INDEX {schema}.WORDS_TIMES ON {schema}.WORDS (TIMES) TABLESPACE {slow}

BEGIN DBMS_STATS.GATHER_TABLE_STATS(ownname => {owner}, tabname => 'WORDS'); END;
-- == data
SELECT COUNT(*), SUM(ORA_HASH(WORD || ' ' || TIMES || ' ' || EXAMPLE)) FROM {schema}.WORDS
-- == read
SELECT COUNT(*) FROM {schema}.WORDS WHERE TIMES = 7
-- == write
UPDATE {schema}.WORDS SET EXAMPLE = EXAMPLE || '' WHERE TIMES = 7
-- == drop
DROP TABLE {schema}.WORDS PURGE
