-- A table with everything that usually hangs on one: a key, a check, a default, columns that the server works out, an index
-- in descending order, comments, rights on the table and on a column, statistics.
-- name: heap
-- quick: yes
-- unit: table {schema}.HEAP
-- unit: index index {schema}.HEAP_PK
-- unit: index index {schema}.HEAP_STATE
-- == make
CREATE TABLE {schema}.HEAP (
    ID INTEGER NOT NULL,
    CUSTOMER INTEGER NOT NULL CONSTRAINT HEAP_CUSTOMER CHECK (CUSTOMER >= 0),
    STATE VARCHAR(30) NOT NULL DEFAULT 'open',
    TOTAL DECIMAL(12, 2),
    NOTE VARCHAR(200),
    TWICE INTEGER GENERATED ALWAYS AS (ID * 2),
    ENTRY INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY
) IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.HEAP (ID, CUSTOMER, TOTAL, NOTE)
SELECT A.N + 10 * B.N + 100 * C.N, A.N, A.N + 10 * B.N + 100 * C.N, REPEAT('n', 100) || TRIM(CHAR(B.N))
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

CREATE UNIQUE INDEX {schema}.HEAP_PK ON {schema}.HEAP (ID)

ALTER TABLE {schema}.HEAP ADD CONSTRAINT HEAP_PK PRIMARY KEY (ID)

CREATE INDEX {schema}.HEAP_STATE ON {schema}.HEAP (STATE DESC, CUSTOMER)

COMMENT ON TABLE {schema}.HEAP IS 'it''s a heap'

COMMENT ON COLUMN {schema}.HEAP.NOTE IS 'a note'

GRANT SELECT, UPDATE (NOTE) ON {schema}.HEAP TO PUBLIC

CALL SYSPROC.ADMIN_CMD('RUNSTATS ON TABLE {schema}.HEAP WITH DISTRIBUTION AND INDEXES ALL')
-- == data
SELECT ID, CUSTOMER, STATE, TOTAL, NOTE, TWICE, ENTRY FROM {schema}.HEAP ORDER BY ID
-- == read
SELECT NOTE FROM {schema}.HEAP WHERE ID = 33
-- == write
UPDATE {schema}.HEAP SET NOTE = NOTE || '' WHERE ID = 33
-- == drop
DROP TABLE {schema}.HEAP
