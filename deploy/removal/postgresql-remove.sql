-- Takes back what postgresql-observe.sql and postgresql-move.sql gave, and drops the login. Stop the agent first.
--
--   psql -d app -v login=hotplace_move -v owner=app_owner -v space=fast -f postgresql-remove.sql
--   psql -d app -v login=hotplace -f postgresql-remove.sql
--
-- In each database that the login worked on; -v keep=1 leaves the login there for the next one, and the last run drops it.
-- Once for each owner and tablespace, with -v keep=1, where there are several. The owner itself loses CREATE on the
-- tablespace, which the scripts gave it: leave -v owner out where it had that before hotplace, or needs it still. What
-- was moved stays where it is. Run it as a superuser.
\set ON_ERROR_STOP on

-- The scripts make it the owner of nothing; what it owns all the same is not dropped with it.
SELECT count(*) > 0 AS owns_something,
       coalesce(string_agg(pg_describe_object(classid, objid, objsubid), ', '), '') AS owned
  FROM pg_shdepend
 WHERE refclassid = 'pg_authid'::regclass AND deptype = 'o'
   AND refobjid = (SELECT oid FROM pg_roles WHERE rolname = :'login') \gset
\if :owns_something
\warn :login owns :owned: give that to another role first (ALTER ... OWNER TO), nothing was changed
SELECT 1 / 0 AS "the login owns objects";
\endif

-- Of a login that is gone already nothing is left to take back but what its owner was given.
SELECT count(*) > 0 AS is_there FROM pg_roles WHERE rolname = :'login' \gset

\if :{?owner}
\if :is_there
REVOKE :"owner" FROM :"login";
\endif
\if :{?space}
REVOKE CREATE ON TABLESPACE :"space" FROM :"owner";
\endif
\if :{?schema}
-- Only where the owner does not own the schema itself, and has no need of CREATE in it without hotplace.
REVOKE CREATE ON SCHEMA :"schema" FROM :"owner";
\endif
\endif

\if :is_there
-- Its rights on everything in this database, on tablespaces and on databases; it owns nothing.
DROP OWNED BY :"login";
REVOKE pg_monitor FROM :"login";
\if :{?keep}
\echo 'the login stays until the last database'
\else
-- If this names a database where it still has rights: run the script there first.
DROP ROLE :"login";
\endif
\endif

-- Left as they were, since others may need them by now: track_io_timing, track_wal_io_timing, pg_stat_statements,
-- pg_buffercache. What an interrupted move has left behind, `hotplace status` named while the ledger was there.
