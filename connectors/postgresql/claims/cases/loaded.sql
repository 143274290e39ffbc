-- A table that is read by look-ups, one that is read from end to end, and one that is not read at all.
-- name: loaded
-- for: demand
-- unit: table {schema}.looked_up
-- unit: index {schema}.looked_up_pkey
-- unit: table {schema}.scanned
-- unit: table {schema}.untouched
-- == make
CREATE TABLE {schema}.looked_up (id int NOT NULL, filler text) TABLESPACE {slow}

INSERT INTO {schema}.looked_up SELECT g, repeat(md5(g::text), 25) FROM generate_series(1, 10000) AS g

ALTER TABLE {schema}.looked_up ADD PRIMARY KEY (id) USING INDEX TABLESPACE {slow}

CREATE TABLE {schema}.scanned (id int NOT NULL, filler text) TABLESPACE {slow}

INSERT INTO {schema}.scanned SELECT g, repeat(md5(g::text), 25) FROM generate_series(1, 10000) AS g

CREATE TABLE {schema}.untouched (id int NOT NULL, filler text) TABLESPACE {slow}

INSERT INTO {schema}.untouched SELECT g, repeat(md5(g::text), 25) FROM generate_series(1, 1000) AS g

VACUUM (ANALYZE) {schema}.looked_up

VACUUM (ANALYZE) {schema}.scanned

VACUUM (ANALYZE) {schema}.untouched
-- == data
SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY id)) FROM {schema}.untouched AS t
-- == load
-- look_ups 1000 {schema}.looked_up
SELECT sum(length(t.filler))
  FROM generate_series(1, 1000) AS g
 CROSS JOIN LATERAL (SELECT filler FROM {schema}.looked_up WHERE id = 1 + g * 4241 % 10000 OFFSET 0) AS t

-- scans 1 {schema}.scanned
SELECT sum(length(filler)) FROM {schema}.scanned
-- == read
-- == write
-- == drop
DROP TABLE IF EXISTS {schema}.looked_up

DROP TABLE IF EXISTS {schema}.scanned

DROP TABLE IF EXISTS {schema}.untouched
