-- A table clustered by the time of insertion (ITC).
-- name: insert_time
-- unit: table {schema}.TICKS
-- unit: index index {schema}.TICKS_ID
-- == make
CREATE TABLE {schema}.TICKS (ID INTEGER NOT NULL, NOTE VARCHAR(60))
    IN {slow} INDEX IN {slow} LONG IN {slow}
    ORGANIZE BY INSERT TIME

INSERT INTO {schema}.TICKS (ID, NOTE)
SELECT A.N + 10 * B.N + 100 * C.N, REPEAT('t', 40)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

CREATE UNIQUE INDEX {schema}.TICKS_ID ON {schema}.TICKS (ID)
-- == data
SELECT ID, NOTE FROM {schema}.TICKS ORDER BY ID
-- == read
SELECT NOTE FROM {schema}.TICKS WHERE ID = 33
-- == write
UPDATE {schema}.TICKS SET NOTE = NOTE || '' WHERE ID = 33
-- == drop
DROP TABLE {schema}.TICKS
