-- A column-organised table, which ADMIN_MOVE_TABLE copies while writers wait: by LOAD, or by INSERT where logs are archived.
-- name: column_organised
-- unit: table {schema}.FACTS
-- == make
CREATE TABLE {schema}.FACTS (ID INTEGER NOT NULL, REGION INTEGER, AMOUNT DECIMAL(12, 2))
    IN {slow} INDEX IN {slow}
    ORGANIZE BY COLUMN

INSERT INTO {schema}.FACTS (ID, REGION, AMOUNT)
SELECT A.N + 10 * B.N + 100 * C.N, A.N, A.N + 10 * B.N + 100 * C.N
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)
-- == data
SELECT ID, REGION, AMOUNT FROM {schema}.FACTS ORDER BY ID
-- == read
SELECT COUNT(*) FROM {schema}.FACTS WHERE REGION = 3
-- == write
UPDATE {schema}.FACTS SET AMOUNT = AMOUNT WHERE ID = 33
-- == drop
DROP TABLE {schema}.FACTS
