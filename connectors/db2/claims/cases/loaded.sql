-- A table that is read by look-ups, one that is read from end to end, and one that is not read at all.
-- name: loaded
-- for: demand
-- unit: table {schema}.LOOKED_UP
-- unit: index index {schema}.LOOKED_UP_ID
-- unit: table {schema}.SCANNED
-- unit: table {schema}.UNTOUCHED
-- == make
CREATE TABLE {schema}.LOOKED_UP (ID INTEGER NOT NULL, FILLER VARCHAR(800))
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.LOOKED_UP (ID, FILLER)
SELECT A.N + 10 * B.N + 100 * C.N, REPEAT('f', 800)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

CREATE UNIQUE INDEX {schema}.LOOKED_UP_ID ON {schema}.LOOKED_UP (ID)

CREATE TABLE {schema}.SCANNED (ID INTEGER NOT NULL, FILLER VARCHAR(800))
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.SCANNED (ID, FILLER)
SELECT A.N + 10 * B.N + 100 * C.N, REPEAT('s', 800)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

CREATE TABLE {schema}.UNTOUCHED (ID INTEGER NOT NULL, FILLER VARCHAR(800))
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.UNTOUCHED (ID, FILLER)
SELECT A.N, REPEAT('u', 800)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N)

CALL SYSPROC.ADMIN_CMD('RUNSTATS ON TABLE {schema}.LOOKED_UP AND INDEXES ALL')
-- == load
-- look_ups 500 {schema}.LOOKED_UP
BEGIN
  DECLARE I INTEGER DEFAULT 0;
  DECLARE L INTEGER;
  WHILE I < 500 DO
    SELECT LENGTH(T.FILLER) INTO L FROM {schema}.LOOKED_UP AS T WHERE T.ID = MOD(I * 421, 1000);
    SET I = I + 1;
  END WHILE;
END

-- scans 1 {schema}.SCANNED
SELECT SUM(LENGTH(S.FILLER)) FROM {schema}.SCANNED AS S
-- == read
-- == write
-- == drop
DROP TABLE {schema}.LOOKED_UP

DROP TABLE {schema}.SCANNED

DROP TABLE {schema}.UNTOUCHED
