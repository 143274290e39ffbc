-- Session settings, those only that this version knows. None at all, and no row, where the backend is not the one that
-- the connection began with: a pooler stands between, and would hand what is set here to its other clients.
-- Every name is qualified, because search_path is still the role's own, and others may create in what it names.
-- Reads: pg_settings. Since: 14 (stats_fetch_consistency 15, transaction_timeout 17). Privilege: none. Cost: under 1 ms.
SELECT pg_catalog.set_config(o.name, o.value, false)
  FROM ROWS FROM (pg_catalog.unnest(%(names)s::pg_catalog.text[]),
                  pg_catalog.unnest(%(values)s::pg_catalog.text[])) AS o (name, value)
  JOIN pg_catalog.pg_settings AS s ON s.name OPERATOR(pg_catalog.=) o.name
 WHERE pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) %(pid)s::pg_catalog.int4
