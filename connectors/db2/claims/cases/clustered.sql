-- A table clustered in two dimensions (MDC): the server makes block indexes for it, under names of its own.
-- name: clustered
-- unit: table {schema}.SALES
-- unit: index index {schema}.SALES_ID
-- == make
CREATE TABLE {schema}.SALES (ID INTEGER NOT NULL, REGION INTEGER NOT NULL, QUARTER INTEGER NOT NULL, NOTE VARCHAR(60))
    IN {slow} INDEX IN {slow} LONG IN {slow}
    ORGANIZE BY DIMENSIONS (REGION, QUARTER)

INSERT INTO {schema}.SALES (ID, REGION, QUARTER, NOTE)
SELECT A.N + 10 * B.N + 100 * C.N, MOD(A.N, 3), MOD(B.N, 4), REPEAT('s', 40)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

CREATE UNIQUE INDEX {schema}.SALES_ID ON {schema}.SALES (ID)
-- == data
SELECT ID, REGION, QUARTER, NOTE FROM {schema}.SALES ORDER BY ID
-- == read
SELECT NOTE FROM {schema}.SALES WHERE ID = 33
-- == write
UPDATE {schema}.SALES SET NOTE = NOTE || '' WHERE ID = 33
-- == drop
DROP TABLE {schema}.SALES
