-- A materialized view with a unique index.
-- name: materialized_view
-- unit: materialized view {schema}.totals
-- unit: index {schema}.totals_g_idx
-- == make
CREATE MATERIALIZED VIEW {schema}.totals TABLESPACE {slow} AS
SELECT g, g * 3 AS total, md5(g::text) AS mark FROM generate_series(1, 5000) AS g

CREATE UNIQUE INDEX totals_g_idx ON {schema}.totals (g) TABLESPACE {slow}

ANALYZE {schema}.totals
-- == data
SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY g)) FROM {schema}.totals AS t
-- == read
SELECT mark FROM {schema}.totals WHERE g = 17
-- == write
-- == drop
DROP MATERIALIZED VIEW IF EXISTS {schema}.totals
