-- A bitmap index, which only Enterprise Edition has and which has no online form.
-- name: bitmap
-- unit: table {schema}.BITS
-- unit: index {schema}.BITS_GRP INDEX
-- == make
CREATE TABLE {schema}.BITS (ID NUMBER(10) NOT NULL, GRP NUMBER(5)) TABLESPACE {slow}

INSERT INTO {schema}.BITS SELECT G, MOD(G, 9) FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 4000)

CREATE BITMAP INDEX {schema}.BITS_GRP ON {schema}.BITS (GRP) TABLESPACE {slow}
-- == data
SELECT COUNT(*), SUM(ORA_HASH(ID || ' ' || GRP)) FROM {schema}.BITS
-- == read
SELECT COUNT(*) FROM {schema}.BITS WHERE GRP = 3
-- == write
-- == drop
DROP TABLE {schema}.BITS PURGE
