-- The same as sample.sql of some relations, each with its TOAST table and the index of that: what is asked where all at
-- once takes too long. Rows of TOAST bear the oid of their table, so that nothing else has to be read to fold them.
-- Reads: pg_class, pg_index, pg_stat_get_*. Since: 14. Privilege: none. Takes no lock on any user relation.
-- Cost: some 10 microseconds a relation since 15; 14 reads the statistics file of the whole database for each call.
WITH asked AS MATERIALIZED (
    SELECT c.oid, c.oid AS owner, c.reltoastrelid, 0 AS role
      FROM pg_catalog.pg_class AS c
     WHERE c.oid = ANY (%(ids)s::bigint[]::oid[])
), found AS (
    SELECT a.oid, a.owner, a.role FROM asked AS a
     UNION ALL
    SELECT a.reltoastrelid, a.owner, 1 FROM asked AS a WHERE a.reltoastrelid <> '0'::oid
     UNION ALL
    SELECT i.indexrelid, a.owner, 2
      FROM asked AS a
      JOIN pg_catalog.pg_index AS i ON i.indrelid = a.reltoastrelid
     WHERE a.reltoastrelid <> '0'::oid
)
SELECT f.owner::bigint AS owner,
       f.role::bigint AS role,
       pg_stat_get_blocks_fetched(c.oid) AS fetched,
       pg_stat_get_blocks_hit(c.oid) AS hit,
       pg_stat_get_numscans(c.oid) AS scans,
       pg_stat_get_tuples_returned(c.oid) AS returned,
       pg_stat_get_tuples_fetched(c.oid) AS taken,
       CASE WHEN c.relkind = 'i' THEN 0 ELSE pg_stat_get_tuples_inserted(c.oid) END AS inserted,
       CASE WHEN c.relkind = 'i' THEN 0
            ELSE pg_stat_get_tuples_updated(c.oid) + pg_stat_get_tuples_deleted(c.oid) END AS changed,
       CASE WHEN c.relkind = 'i' THEN 0
            ELSE 2 * (pg_stat_get_vacuum_count(c.oid) + pg_stat_get_autovacuum_count(c.oid))
               + pg_stat_get_analyze_count(c.oid) + pg_stat_get_autoanalyze_count(c.oid) END AS maintenance
  FROM found AS f
  JOIN pg_catalog.pg_class AS c ON c.oid = f.oid
 WHERE c.relkind IN ('r', 'm', 't', 'i')
   AND (pg_stat_get_blocks_fetched(c.oid) <> 0 OR (c.relkind <> 'i' AND pg_stat_get_tuples_inserted(c.oid) <> 0))
