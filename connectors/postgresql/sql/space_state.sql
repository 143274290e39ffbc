-- Whether a tablespace of a name is there, where it lies, and what of this database is in it. Of another database the
-- server knows when it is to be dropped: a file that lies there still may be one that the next checkpoint removes.
-- Reads: pg_tablespace, pg_class, pg_database. Since: 14. Privilege: none. Cost: one pass over pg_class.
SELECT t.oid::bigint AS oid,
       pg_tablespace_location(t.oid) AS location,
       (SELECT count(*) FROM pg_catalog.pg_class AS c WHERE c.reltablespace = t.oid) AS relations,
       (SELECT count(*) FROM pg_catalog.pg_database AS d WHERE d.dattablespace = t.oid) AS databases
  FROM pg_catalog.pg_tablespace AS t
 WHERE t.spcname = %(name)s
