-- A login that may move what was approved. Give it only where hotplace is to act; observing needs none of this.
--
--   psql -d app -v login=hotplace_move -v owner=app_owner -v space=fast -f postgresql-move.sql
--
-- Once for each owner of tables and each tablespace. PostgreSQL lets only the owner of a table or index move it, so the
-- login becomes a member of the owning role; there is no narrower right in any version up to 18.
\set ON_ERROR_STOP on

SELECT format('CREATE ROLE %I LOGIN', :'login')
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'login') \gexec

-- To see its own progress, other sessions' locks, and whether an interrupted statement still runs.
GRANT pg_monitor TO :"login";

-- To alter the owner's relations.
GRANT :"owner" TO :"login";

-- To put relations into the tablespace: the fast one, and the one that they may have to go back to.
GRANT CREATE ON TABLESPACE :"space" TO :"login";

-- REINDEX CONCURRENTLY makes a new index in the schema of its table, with the rights of the owner: the owner itself
-- must be allowed to put it into the tablespace.
GRANT CREATE ON TABLESPACE :"space" TO :"owner";

-- To split tables as well, with -v schema=public for each schema: a split makes tables next to the one that is split, and
-- gives them to its owner. What it needs more, such as REFERENCES on tables that foreign keys name, `hotplace split` says.
\if :{?schema}
GRANT USAGE, CREATE ON SCHEMA :"schema" TO :"owner";
\endif
