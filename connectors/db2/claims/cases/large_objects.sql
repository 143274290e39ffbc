-- A table with large objects, which lie outside of its rows: rows with LOBs, and indexes, move apart.
-- name: large_objects
-- unit: table {schema}.DOCUMENTS
-- unit: lob {schema}.DOCUMENTS lob
-- unit: index index {schema}.DOCUMENTS_ID
-- == make
CREATE TABLE {schema}.DOCUMENTS (ID INTEGER NOT NULL, BODY CLOB(1M), PICTURE BLOB(1M))
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.DOCUMENTS (ID, BODY)
SELECT A.N + 10 * B.N, CAST(REPEAT('b', 2000) || TRIM(CHAR(A.N)) AS CLOB(1M))
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N)

CREATE UNIQUE INDEX {schema}.DOCUMENTS_ID ON {schema}.DOCUMENTS (ID)
-- == data
SELECT ID, LENGTH(BODY), CAST(SUBSTR(BODY, 1981, 21) AS VARCHAR(30)) FROM {schema}.DOCUMENTS ORDER BY ID

SELECT COUNT(*) FROM {schema}.DOCUMENTS WHERE PICTURE IS NULL
-- == read
SELECT LENGTH(BODY) FROM {schema}.DOCUMENTS WHERE ID = 77
-- == write
UPDATE {schema}.DOCUMENTS SET ID = ID WHERE ID = 77
-- == drop
DROP TABLE {schema}.DOCUMENTS
