-- Names with lower case, blanks, a dot, a percent sign, what looks like a bind, and letters beyond ASCII.
-- name: names
-- unit: table {schema}."Ärger 'x'.y %s"
-- unit: index {schema}."; -- {} :b" INDEX
-- == make
CREATE TABLE {schema}."Ärger 'x'.y %s" ("a b" NUMBER(10) NOT NULL, "%c" VARCHAR2(40)) TABLESPACE {slow}

INSERT INTO {schema}."Ärger 'x'.y %s"
SELECT G, RPAD('n', 30, TO_CHAR(G)) FROM (SELECT LEVEL AS G FROM SYS.DUAL CONNECT BY LEVEL <= 2000)

CREATE UNIQUE INDEX {schema}."; -- {} :b" ON {schema}."Ärger 'x'.y %s" ("a b") TABLESPACE {slow}
-- == data
SELECT COUNT(*), SUM(ORA_HASH("a b" || ' ' || "%c")) FROM {schema}."Ärger 'x'.y %s"
-- == read
SELECT "%c" FROM {schema}."Ärger 'x'.y %s" WHERE "a b" = 5
-- == write
UPDATE {schema}."Ärger 'x'.y %s" SET "%c" = "%c" || '' WHERE "a b" = 5
-- == drop
DROP TABLE {schema}."Ärger 'x'.y %s" PURGE
