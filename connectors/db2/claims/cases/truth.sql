-- A table of known size that one session reads by look-ups, in a table space whose buffer pool is smaller than the table: another
-- table of that size, read before, has pushed it out. Look-ups only, since no connection is counted what prefetchers read.
-- What the session itself counts is in MON_GET_CONNECTION, of which no figure of an object is made.
-- name: truth
-- for: truth
-- unit: table {schema}.COLD
-- unit: index index {schema}.COLD_ID
-- unit: table {schema}.PUSHER
-- == make
CREATE TABLE {schema}.COLD (ID INTEGER NOT NULL, FILLER VARCHAR(3500))
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.COLD (ID, FILLER)
SELECT A.N + 10 * B.N + 100 * C.N + 1000 * D.N, REPEAT('f', 3500)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N),
       (VALUES 0, 1, 2) AS D(N)

CREATE UNIQUE INDEX {schema}.COLD_ID ON {schema}.COLD (ID)

CREATE TABLE {schema}.PUSHER (ID INTEGER NOT NULL, FILLER VARCHAR(3500))
    IN {slow} INDEX IN {slow} LONG IN {slow}

INSERT INTO {schema}.PUSHER (ID, FILLER)
SELECT A.N + 10 * B.N + 100 * C.N + 1000 * D.N, REPEAT('p', 3500)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N),
       (VALUES 0, 1, 2) AS D(N)

CALL SYSPROC.ADMIN_CMD('RUNSTATS ON TABLE {schema}.COLD AND INDEXES ALL')
-- == flush
SELECT SUM(LENGTH(S.FILLER)) FROM {schema}.PUSHER AS S
-- == load
-- look-ups, 1500: {schema}.COLD; index {schema}.COLD_ID
BEGIN
  DECLARE I INTEGER DEFAULT 0;
  DECLARE L INTEGER;
  WHILE I < 3000 DO
    SELECT LENGTH(T.FILLER) INTO L FROM {schema}.COLD AS T WHERE T.ID = MOD(I * 1237, 3000);
    SET I = I + 1;
  END WHILE;
END
-- == read
-- == write
-- == drop
DROP TABLE {schema}.COLD

DROP TABLE {schema}.PUSHER
