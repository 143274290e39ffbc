-- A table with an index of every access method that the server brings, and an exclusion constraint.
-- name: index_kinds
-- unit: table {schema}.kinds
-- unit: index {schema}.kinds_btree
-- unit: index {schema}.kinds_hash
-- unit: index {schema}.kinds_gin
-- unit: index {schema}.kinds_gist
-- unit: index {schema}.kinds_spgist
-- unit: index {schema}.kinds_brin
-- unit: index {schema}.kinds_during_excl
-- == make
CREATE TABLE {schema}.kinds (id int NOT NULL, words text[], place point, during int4range) TABLESPACE {slow}

INSERT INTO {schema}.kinds
SELECT g, ARRAY['w' || g % 50, 'v' || g % 7], point(g % 100, g / 100.0), int4range(2 * g, 2 * g + 1)
  FROM generate_series(1, 4000) AS g

CREATE INDEX kinds_btree ON {schema}.kinds (id DESC) WITH (fillfactor = 75, deduplicate_items = off) TABLESPACE {slow}

CREATE INDEX kinds_hash ON {schema}.kinds USING hash (id) TABLESPACE {slow}

CREATE INDEX kinds_gin ON {schema}.kinds USING gin (words) WITH (fastupdate = off) TABLESPACE {slow}

CREATE INDEX kinds_gist ON {schema}.kinds USING gist (place) TABLESPACE {slow}

CREATE INDEX kinds_spgist ON {schema}.kinds USING spgist (place) TABLESPACE {slow}

CREATE INDEX kinds_brin ON {schema}.kinds USING brin (id) WITH (pages_per_range = 16) TABLESPACE {slow}

ALTER TABLE {schema}.kinds ADD CONSTRAINT kinds_during_excl EXCLUDE USING gist (during WITH &&)
USING INDEX TABLESPACE {slow}

ANALYZE {schema}.kinds
-- == data
SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY id)) FROM {schema}.kinds AS t
-- == read
SELECT words FROM {schema}.kinds WHERE id = 33
-- == write
UPDATE {schema}.kinds SET words = words || '{}' WHERE id = 33
-- == drop
DROP TABLE IF EXISTS {schema}.kinds
