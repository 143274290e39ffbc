-- Two tablespaces, a scratch database with an empty schema, and a login that owns that schema and nothing else.
--
--   psql -f postgresql-setup.sql                                  in the container of postgresql-compose.yaml
--   psql -v slow_folder=/mnt/hdd -v fast_folder=/mnt/ssd -f ...   on another server, as a superuser
--
-- The password of the login comes from the environment variable PROVER_PASSWORD.
\set ON_ERROR_STOP on
\if :{?slow_folder}
\else
  \set slow_folder /slow/data
  \set fast_folder /fast/data
\endif
\getenv password PROVER_PASSWORD

CREATE TABLESPACE slow LOCATION :'slow_folder';
CREATE TABLESPACE fast LOCATION :'fast_folder';

-- Neither superuser nor able to make roles or databases.
CREATE ROLE prover LOGIN PASSWORD :'password';
GRANT pg_monitor TO prover;
GRANT CREATE ON TABLESPACE slow TO prover;
GRANT CREATE ON TABLESPACE fast TO prover;

CREATE DATABASE scratch TABLESPACE slow;
\connect scratch
CREATE SCHEMA scratch AUTHORIZATION prover;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
