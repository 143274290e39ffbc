-- A login that may look and not touch: enough for `hotplace run` at the level observe, and for planning.
--
--   psql -d app -v login=hotplace -f postgresql-observe.sql
--
-- Run it once as a superuser, or as a role with CREATEROLE and ADMIN on pg_monitor. Give the login its password
-- afterwards with \password, so that it shows neither here nor in the server's log.
\set ON_ERROR_STOP on

SELECT format('CREATE ROLE %I LOGIN', :'login')
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'login') \gexec

-- Sizes of tablespaces, folders, what other sessions are doing, and the counters of their statements. No rows of any table.
GRANT pg_monitor TO :"login";

-- Whatever a query of hotplace should ever try: it cannot write.
ALTER ROLE :"login" SET default_transaction_read_only = on;

-- Read times of the whole database, so that a predicted gain is a measured one. About 25 ns for each block read.
\echo 'If `hotplace doctor` says that track_io_timing is off:'
\echo '  ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf();'

-- Which blocks of a large table are hot, so that hotplace can say whether splitting it pays (`hotplace explain`).
\echo 'To let hotplace look inside large tables (contrib modules of the server):'
\echo '  CREATE EXTENSION IF NOT EXISTS pg_buffercache;'

-- Where the hot part of such a table begins, by values of a column: user data, only with `border_values: true`.
\echo 'With border_values on, for the columns that `hotplace explain` names:'
\echo '  GRANT SELECT (ctid, COLUMN) ON SCHEMA.TABLE TO the login;'

-- What sessions wait for the log, so that it can be judged. Two readings of the clock for each flush.
\echo 'If `hotplace doctor` says that track_wal_io_timing is off:'
\echo '  ALTER SYSTEM SET track_wal_io_timing = on; SELECT pg_reload_conf();'

-- Which statements a move made slower or faster. Where it is not installed: one shared library, and a restart.
\echo 'If `hotplace doctor` says that pg_stat_statements is not installed, and outcomes shall name statements:'
\echo '  shared_preload_libraries = pg_stat_statements; a restart; CREATE EXTENSION pg_stat_statements;'
