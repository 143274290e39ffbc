-- Files of relations in the folders of this database that belong to no relation, by tablespace: a server that ended in
-- the midst of a build or a move leaves what was written so far. Only files that no transaction now running, and none
-- of the last hours, can have made; what was dropped is empty until the next checkpoint and does not count.
-- Reads: pg_tablespace, pg_database, pg_class, pg_stat_activity, pg_prepared_xacts, pg_ls_dir, pg_stat_file. Since: 14.
-- Privilege: EXECUTE on pg_ls_dir and pg_stat_file (superusers have it), pg_read_all_stats; ask unknown_files_may first.
-- Cost: the server asks its file system about every file of this database, once a `doctor`.
WITH place AS (
    SELECT t.oid AS space, t.spcname AS name,
           CASE WHEN t.spcname = 'pg_default' THEN 'base'
                ELSE 'pg_tblspc/' || t.oid || '/' || version.folder END || '/' || d.oid AS path
      FROM pg_catalog.pg_tablespace AS t
      JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
      LEFT JOIN LATERAL pg_ls_dir('pg_tblspc/' || t.oid, true, false) AS version (folder)
        ON t.spcname <> 'pg_default'
       AND version.folder ~ ('^PG_' || current_setting('server_version_num')::int / 10000 || '_')
     CROSS JOIN (SELECT '{}'::bigint[] AS spaces) AS unread -- tablespaces whose files the server cannot use, filled in then
     WHERE t.spcname <> 'pg_global' AND t.oid::bigint <> ALL (unread.spaces)
), file AS (
    SELECT p.space, p.name, p.path || '/' || f.name AS path, split_part(f.name, '.', 1) AS number
      FROM place AS p, pg_ls_dir(p.path, true, false) AS f (name)
     WHERE f.name ~ '^[0-9]+([.][0-9]+)?$'
), unknown AS (
    SELECT f.name, f.path, pg_stat_file(f.path, true) AS facts
      FROM file AS f
     WHERE NOT EXISTS (
           SELECT FROM pg_catalog.pg_class AS c
             JOIN pg_catalog.pg_database AS d ON d.datname = current_database()
            -- Not relfilenode: that is 0 for mapped relations, whose file only this function knows.
            WHERE pg_relation_filenode(c.oid)::text = f.number
              AND coalesce(nullif(c.reltablespace, 0::oid), d.dattablespace) = f.space)
)
SELECT u.name, count(*), sum((u.facts).size)::bigint, min(u.path)
  FROM unknown AS u
 WHERE (u.facts).size > 0
   -- A file that a running transaction has made belongs to a relation that the catalog will show only once it commits.
   AND (u.facts).modification < least(
       now() - make_interval(secs => %(older_than)s::float8),
       (SELECT min(a.xact_start) FROM pg_catalog.pg_stat_activity AS a),
       (SELECT min(x.prepared) FROM pg_catalog.pg_prepared_xacts AS x))
 GROUP BY u.name
 ORDER BY u.name
