-- An unlogged table that refers to a logged one by a foreign key; both move.
-- name: unlogged
-- unit: table {schema}.kept
-- unit: index {schema}.kept_pkey
-- unit: table {schema}.scribble
-- == make
CREATE TABLE {schema}.kept (id int NOT NULL) TABLESPACE {slow}

ALTER TABLE {schema}.kept ADD PRIMARY KEY (id) USING INDEX TABLESPACE {slow}

INSERT INTO {schema}.kept SELECT generate_series(1, 3000)

CREATE UNLOGGED TABLE {schema}.scribble (kept int REFERENCES {schema}.kept ON DELETE CASCADE, line text)
TABLESPACE {slow}

INSERT INTO {schema}.scribble SELECT 1 + g % 3000, md5(g::text) FROM generate_series(1, 6000) AS g

ANALYZE {schema}.kept

ANALYZE {schema}.scribble
-- == data
SELECT count(*), sum(id) FROM {schema}.kept

SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY line)) FROM {schema}.scribble AS t
-- == read
SELECT count(*) FROM {schema}.kept WHERE id = 9
-- == write
UPDATE {schema}.scribble SET line = line || '' WHERE kept = 9
-- == drop
DROP TABLE IF EXISTS {schema}.scribble

DROP TABLE IF EXISTS {schema}.kept
