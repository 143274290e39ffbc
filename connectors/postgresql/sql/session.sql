-- Session settings, those only that this version knows.
-- Reads: pg_settings. Since: 14 (stats_fetch_consistency 15). Privilege: none. Cost: under a millisecond.
SELECT set_config(o.name, o.value, false)
  FROM unnest(%(names)s::text[], %(values)s::text[]) AS o (name, value)
  JOIN pg_catalog.pg_settings AS s ON s.name = o.name
