-- Tables of known size that one session reads a fixed number of times, none of it in shared buffers: a relation that has
-- just gone to another tablespace has no page there, and no privilege is needed for that. EXPLAIN tells what the session
-- itself read and waited, from counters that no query of the connector reads.
-- name: truth
-- for: truth
-- unit: table {schema}.cold
-- unit: index {schema}.cold_pkey
-- unit: table {schema}.narrow
-- unit: index {schema}.narrow_id
-- == make
CREATE TABLE {schema}.cold (id int NOT NULL, filler text) WITH (autovacuum_enabled = false) TABLESPACE {slow}

ALTER TABLE {schema}.cold ALTER filler SET STORAGE PLAIN

INSERT INTO {schema}.cold SELECT g, repeat('x', 5000) FROM generate_series(1, 3000) AS g

ALTER TABLE {schema}.cold ADD PRIMARY KEY (id) WITH (fillfactor = 10) USING INDEX TABLESPACE {slow}

CREATE TABLE {schema}.narrow (id int NOT NULL) WITH (autovacuum_enabled = false) TABLESPACE {slow}

INSERT INTO {schema}.narrow SELECT generate_series(1, 120000)

CREATE INDEX narrow_id ON {schema}.narrow (id) WITH (fillfactor = 10, deduplicate_items = off) TABLESPACE {slow}

VACUUM (ANALYZE) {schema}.cold

VACUUM (ANALYZE) {schema}.narrow
-- == flush
ALTER TABLE {schema}.cold SET TABLESPACE {fast}

ALTER TABLE {schema}.cold SET TABLESPACE {slow}

ALTER INDEX {schema}.cold_pkey SET TABLESPACE {fast}

ALTER INDEX {schema}.cold_pkey SET TABLESPACE {slow}

ALTER TABLE {schema}.narrow SET TABLESPACE {fast}

ALTER TABLE {schema}.narrow SET TABLESPACE {slow}

ALTER INDEX {schema}.narrow_id SET TABLESPACE {fast}

ALTER INDEX {schema}.narrow_id SET TABLESPACE {slow}
-- == warm
EXPLAIN SELECT sum(length(t.filler))
  FROM generate_series(0, 2999) AS g
 CROSS JOIN LATERAL (SELECT filler FROM {schema}.cold
                      WHERE ctid = ('(' || g * 1237 % 3000 || ',1)')::tid OFFSET 0) AS t

EXPLAIN (ANALYZE, BUFFERS) SELECT sum(length('(' || g * 1237 % 3000 || ',1)')), min(('(' || g || ',1)')::tid)
  FROM generate_series(0, 9) AS g

EXPLAIN SELECT (SELECT filler FROM {schema}.cold WHERE id = g), (SELECT id FROM {schema}.narrow WHERE id = g)
  FROM generate_series(0, 2999) AS g
-- == load
-- single reads, 3000: {schema}.cold
EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
SELECT sum(length(t.filler))
  FROM generate_series(0, 2999) AS g
 CROSS JOIN LATERAL (SELECT filler FROM {schema}.cold
                      WHERE ctid = ('(' || g * 1237 % 3000 || ',1)')::tid OFFSET 0) AS t

-- look-ups, 3000: {schema}.cold; {schema}.cold_pkey
EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
SELECT sum(length(t.filler))
  FROM generate_series(0, 2999) AS g
 CROSS JOIN LATERAL (SELECT filler FROM {schema}.cold WHERE id = 1 + g * 1237 % 3000 OFFSET 0) AS t

-- index reads, 2000: {schema}.narrow_id
EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
SELECT sum(t.id)
  FROM generate_series(0, 2999) AS g
 CROSS JOIN LATERAL (SELECT id FROM {schema}.narrow WHERE id = 1 + g * 1237 % 3000 * 40 OFFSET 0) AS t

-- a scan, 3000: {schema}.cold
EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
SELECT sum(length(filler)) FROM {schema}.cold
-- == read
-- == write
-- == drop
DROP TABLE IF EXISTS {schema}.cold

DROP TABLE IF EXISTS {schema}.narrow
