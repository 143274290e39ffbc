-- A table of known size that one session reads, after a procedure that the DBA has installed has dropped what is in memory.
-- What the session itself counts is in sys.dm_exec_session_wait_stats and sys.dm_exec_sessions, of which no query of the
-- connector reads these columns.
-- name: truth
-- for: truth
-- unit: table {schema}.[cold]
-- unit: index {schema}.[cold].[cold_pk]
-- unit: index {schema}.[cold].[cold_wide]
-- == make
CREATE TABLE {schema}.[cold] ([id] int NOT NULL, [filler] varchar(8000) NOT NULL) ON {slow}

INSERT INTO {schema}.[cold] ([id], [filler])
SELECT TOP (3000) n.[i], REPLICATE('f', 3900)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

ALTER TABLE {schema}.[cold] ADD CONSTRAINT [cold_pk] PRIMARY KEY NONCLUSTERED ([id]) ON {slow}

CREATE UNIQUE INDEX [cold_wide] ON {schema}.[cold] ([id]) INCLUDE ([filler]) ON {slow}
-- == flush
EXEC dbo.hotplace_flush
-- == warm
SELECT SUM(LEN(t.[filler])) AS [read]
  FROM (SELECT a.[n] + 10 * b.[n] + 100 * c.[n] + 1000 * d.[n] AS [n]
          FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS a ([n])
         CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS b ([n])
         CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS c ([n])
         CROSS JOIN (VALUES (0), (1), (2)) AS d ([n])) AS g
  JOIN {schema}.[cold] AS t WITH (FORCESEEK, INDEX([cold_pk])) ON t.[id] = -1 - g.[n]
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1)

SELECT SUM(LEN(t.[filler])) AS [read]
  FROM (SELECT a.[n] + 10 * b.[n] + 100 * c.[n] + 1000 * d.[n] AS [n]
          FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS a ([n])
         CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS b ([n])
         CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS c ([n])
         CROSS JOIN (VALUES (0), (1), (2)) AS d ([n])) AS g
  JOIN {schema}.[cold] AS t WITH (FORCESEEK, INDEX([cold_wide])) ON t.[id] = -1 - g.[n]
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1)
-- == load
-- look-ups, 1500: {schema}.[cold]; {schema}.[cold].[cold_pk]
SELECT SUM(LEN(t.[filler])) AS [read]
  FROM (SELECT a.[n] + 10 * b.[n] + 100 * c.[n] + 1000 * d.[n] AS [n]
          FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS a ([n])
         CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS b ([n])
         CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS c ([n])
         CROSS JOIN (VALUES (0), (1), (2)) AS d ([n])) AS g
  JOIN {schema}.[cold] AS t WITH (FORCESEEK, INDEX([cold_pk])) ON t.[id] = 1 + g.[n] * 1237 % 3000
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1)

-- index reads, 1500: {schema}.[cold].[cold_wide]
SELECT SUM(LEN(t.[filler])) AS [read]
  FROM (SELECT a.[n] + 10 * b.[n] + 100 * c.[n] + 1000 * d.[n] AS [n]
          FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS a ([n])
         CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS b ([n])
         CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS c ([n])
         CROSS JOIN (VALUES (0), (1), (2)) AS d ([n])) AS g
  JOIN {schema}.[cold] AS t WITH (FORCESEEK, INDEX([cold_wide])) ON t.[id] = 1 + g.[n] * 1237 % 3000
OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1)

-- a scan, 1500: {schema}.[cold]
SELECT SUM(LEN(t.[filler])) AS [read] FROM {schema}.[cold] AS t WITH (INDEX(0)) OPTION (MAXDOP 1)
-- == read
-- == write
-- == drop
DROP TABLE {schema}.[cold]
