-- A table partitioned by range, with an index of all partitions: each partition and each piece of the index moves alone.
-- name: partitioned
-- unit: table partition {schema}.events_1
-- unit: table partition {schema}.events_2
-- unit: table partition {schema}.events_rest
-- unit: index partition {schema}.events_1_at_idx
-- unit: index partition {schema}.events_2_at_idx
-- unit: index partition {schema}.events_rest_at_idx
-- == make
CREATE TABLE {schema}.events (at date NOT NULL, what text) PARTITION BY RANGE (at)

CREATE TABLE {schema}.events_1 PARTITION OF {schema}.events
FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') TABLESPACE {slow}

CREATE TABLE {schema}.events_2 PARTITION OF {schema}.events
FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') TABLESPACE {slow}

CREATE TABLE {schema}.events_rest PARTITION OF {schema}.events DEFAULT TABLESPACE {slow}

INSERT INTO {schema}.events
SELECT date '2026-01-01' + g % 90, md5(g::text) FROM generate_series(1, 9000) AS g

CREATE INDEX events_at_idx ON ONLY {schema}.events (at)

CREATE INDEX events_1_at_idx ON {schema}.events_1 (at) TABLESPACE {slow}

CREATE INDEX events_2_at_idx ON {schema}.events_2 (at) TABLESPACE {slow}

CREATE INDEX events_rest_at_idx ON {schema}.events_rest (at) TABLESPACE {slow}

ALTER INDEX {schema}.events_at_idx ATTACH PARTITION {schema}.events_1_at_idx

ALTER INDEX {schema}.events_at_idx ATTACH PARTITION {schema}.events_2_at_idx

ALTER INDEX {schema}.events_at_idx ATTACH PARTITION {schema}.events_rest_at_idx

ANALYZE {schema}.events
-- == data
SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY at, what)) FROM {schema}.events AS t
-- == read
SELECT count(*) FROM {schema}.events WHERE at = date '2026-02-03'
-- == write
UPDATE {schema}.events SET what = what || '' WHERE at = date '2026-02-03' AND what = md5('33')
-- == drop
DROP TABLE IF EXISTS {schema}.events
