-- A table partitioned by range. ADMIN_MOVE_TABLE would move all of it: a partition moves with its table space, which a login
-- that prove takes may not alter.
-- name: partitioned
-- for: the catalog
-- unit: table partition {schema}.EVENTS partition EARLY
-- unit: table partition {schema}.EVENTS partition LATE
-- unit: index index {schema}.EVENTS_ID
-- == make
CREATE TABLE {schema}.EVENTS (ID INTEGER NOT NULL, DAY INTEGER NOT NULL, NOTE VARCHAR(60))
    INDEX IN {slow}
    PARTITION BY RANGE (DAY) (
        PARTITION EARLY STARTING (0) ENDING (5) EXCLUSIVE IN {slow},
        PARTITION LATE STARTING (5) ENDING (10) EXCLUSIVE IN {slow}
    )

INSERT INTO {schema}.EVENTS (ID, DAY, NOTE)
SELECT A.N + 10 * B.N + 100 * C.N, A.N, REPEAT('e', 40)
  FROM (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS A(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS B(N),
       (VALUES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AS C(N)

CREATE UNIQUE INDEX {schema}.EVENTS_ID ON {schema}.EVENTS (ID) NOT PARTITIONED
-- == read
-- == write
-- == drop
DROP TABLE {schema}.EVENTS
