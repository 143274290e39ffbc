-- The text of one statement by the hash of the query; asked for what an outcome lists, where the configuration wants texts.
-- Reads: sys.query_store_query, sys.query_store_query_text. Since: 2016. Privilege: VIEW DATABASE STATE (2022: VIEW
-- DATABASE PERFORMANCE STATE). Cost: a scan of the queries that the store keeps.
SELECT TOP (1)
       t.query_sql_text
  FROM sys.query_store_query AS q
  JOIN sys.query_store_query_text AS t ON t.query_text_id = q.query_text_id
 WHERE q.query_hash = ?
