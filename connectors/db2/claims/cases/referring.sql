-- Two tables, one of which refers to the other by a foreign key. With `foreign_keys: drop_and_add` both move; otherwise such
-- tables are refused.
-- name: referring
-- unit: table {schema}.KEPT
-- unit: index index {schema}.KEPT_PK
-- unit: table {schema}.LINES
-- == make
CREATE TABLE {schema}.KEPT (ID INTEGER NOT NULL)
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.KEPT (ID)
SELECT A.N + 10 * B.N + 100 * C.N
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

CREATE UNIQUE INDEX {schema}.KEPT_PK ON {schema}.KEPT (ID)

ALTER TABLE {schema}.KEPT ADD CONSTRAINT KEPT_PK PRIMARY KEY (ID)

CREATE TABLE {schema}.LINES (KEPT INTEGER, LINE VARCHAR(40))
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.LINES (KEPT, LINE)
SELECT A.N + 10 * B.N, REPEAT('l', 30) || TRIM(CHAR(C.N))
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

ALTER TABLE {schema}.LINES ADD CONSTRAINT LINES_KEPT FOREIGN KEY (KEPT) REFERENCES {schema}.KEPT (ID) ON DELETE CASCADE
-- == data
SELECT COUNT(*), SUM(ID) FROM {schema}.KEPT

SELECT KEPT, LINE FROM {schema}.LINES ORDER BY KEPT, LINE
-- == read
SELECT ID FROM {schema}.KEPT WHERE ID = 9
-- == write
UPDATE {schema}.LINES SET LINE = LINE || '' WHERE KEPT = 9
-- == drop
DROP TABLE {schema}.LINES

DROP TABLE {schema}.KEPT
