-- Texts of some statements of this database, for people. extension_schema stands for the schema of the extension.
-- Reads: pg_stat_statements, pg_database. Since: 14. Privilege: pg_monitor (pg_read_all_stats). Cost: the server reads
-- its file of texts, some MB; asked once for an outcome, and only where the configuration wants texts.
SELECT s.queryid::text AS id,
       min(s.query) AS text
  FROM extension_schema.pg_stat_statements(true) AS s
 WHERE s.queryid = ANY (%(ids)s::bigint[])
   AND s.dbid = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
 GROUP BY s.queryid
