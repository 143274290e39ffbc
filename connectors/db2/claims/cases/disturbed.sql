-- What pitfalls are tried on: a table that another session uses, one that is dropped after its move was approved, and one that
-- grows.
-- name: disturbed
-- for: pitfalls
-- unit: table {schema}.BUSY
-- unit: index index {schema}.BUSY_ID
-- unit: table {schema}.DOOMED
-- unit: table {schema}.GROWN
-- == make
CREATE TABLE {schema}.BUSY (ID INTEGER NOT NULL, FILLER VARCHAR(200))
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.BUSY (ID, FILLER)
SELECT A.N + 10 * B.N + 100 * C.N, REPEAT('f', 40)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

CREATE UNIQUE INDEX {schema}.BUSY_ID ON {schema}.BUSY (ID)

CREATE TABLE {schema}.DOOMED (ID INTEGER NOT NULL)
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.DOOMED (ID)
SELECT A.N + 10 * B.N + 100 * C.N
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

CREATE TABLE {schema}.GROWN (ID INTEGER NOT NULL, FILLER VARCHAR(800))
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.GROWN (ID, FILLER)
SELECT A.N, REPEAT('g', 800)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N)
-- == data
SELECT ID, FILLER FROM {schema}.BUSY ORDER BY ID
-- == reading
-- uses {schema}.BUSY
LOCK TABLE {schema}.BUSY IN SHARE MODE
-- == writing
-- uses {schema}.BUSY
UPDATE {schema}.BUSY SET FILLER = FILLER || '' WHERE ID = 1
-- == grow
-- grows {schema}.GROWN
INSERT INTO {schema}.GROWN (ID, FILLER)
SELECT A.N + 10 * B.N + 100 * C.N, REPEAT('g', 800)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N),
       (VALUES 0, 1) AS D(N)
-- == vanish
-- drops {schema}.DOOMED
DROP TABLE {schema}.DOOMED
-- == read
SELECT FILLER FROM {schema}.BUSY WHERE ID = 11
-- == write
UPDATE {schema}.BUSY SET FILLER = FILLER || '' WHERE ID = 11
-- == drop
DROP TABLE {schema}.BUSY

DROP TABLE {schema}.DOOMED

DROP TABLE {schema}.GROWN
