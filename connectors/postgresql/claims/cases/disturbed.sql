-- What pitfalls are tried on: a table that another session uses, and one that is dropped after its move was approved.
-- name: disturbed
-- for: pitfalls
-- unit: table {schema}.busy
-- unit: index {schema}.busy_pkey
-- unit: table {schema}.doomed
-- unit: table {schema}.grown
-- == make
CREATE TABLE {schema}.busy (id int NOT NULL, filler text) TABLESPACE {slow}

INSERT INTO {schema}.busy SELECT g, md5(g::text) FROM generate_series(1, 3000) AS g

ALTER TABLE {schema}.busy ADD PRIMARY KEY (id) USING INDEX TABLESPACE {slow}

CREATE TABLE {schema}.doomed (id int) TABLESPACE {slow}

INSERT INTO {schema}.doomed SELECT generate_series(1, 1000)

CREATE TABLE {schema}.grown (id int) TABLESPACE {slow}

INSERT INTO {schema}.grown SELECT generate_series(1, 1000)

ANALYZE {schema}.busy

ANALYZE {schema}.doomed

ANALYZE {schema}.grown
-- == data
SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY id)) FROM {schema}.busy AS t
-- == reading
-- uses {schema}.busy
SELECT count(*) FROM {schema}.busy
-- == writing
-- uses {schema}.busy_pkey
UPDATE {schema}.busy SET filler = filler || '' WHERE id = 1
-- == grow
-- grows {schema}.grown
INSERT INTO {schema}.grown SELECT generate_series(1, 20000)
-- == vanish
-- drops {schema}.doomed
DROP TABLE {schema}.doomed
-- == read
SELECT filler FROM {schema}.busy WHERE id = 11
-- == write
UPDATE {schema}.busy SET filler = filler || '' WHERE id = 11
-- == drop
DROP TABLE IF EXISTS {schema}.busy

DROP TABLE IF EXISTS {schema}.doomed

DROP TABLE IF EXISTS {schema}.grown
