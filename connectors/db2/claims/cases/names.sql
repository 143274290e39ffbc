-- Names with lower case, blanks, a dot, a percent sign, a question mark, and letters beyond ASCII.
-- name: names
-- unit: table {schema}."Ärger 'x'.y %s"
-- unit: index index {schema}."; -- {} :b?"
-- == make
CREATE TABLE {schema}."Ärger 'x'.y %s" ("a b" INTEGER NOT NULL, "%c" VARCHAR(60))
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}."Ärger 'x'.y %s" ("a b", "%c")
SELECT A.N + 10 * B.N + 100 * C.N, REPEAT('n', 30) || TRIM(CHAR(B.N))
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

CREATE UNIQUE INDEX {schema}."; -- {} :b?" ON {schema}."Ärger 'x'.y %s" ("a b")
-- == data
SELECT "a b", "%c" FROM {schema}."Ärger 'x'.y %s" ORDER BY "a b"
-- == read
SELECT "%c" FROM {schema}."Ärger 'x'.y %s" WHERE "a b" = 5
-- == write
UPDATE {schema}."Ärger 'x'.y %s" SET "%c" = "%c" || '' WHERE "a b" = 5
-- == drop
DROP TABLE {schema}."Ärger 'x'.y %s"
