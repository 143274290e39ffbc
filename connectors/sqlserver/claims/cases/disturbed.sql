-- What pitfalls are tried on: a table that another session uses, one that is dropped after its move was approved, and
-- one that grows.
-- name: disturbed
-- for: pitfalls
-- unit: table {schema}.[busy]
-- unit: index {schema}.[busy].[busy_customer]
-- unit: table {schema}.[doomed]
-- unit: table {schema}.[grown]
-- == make
CREATE TABLE {schema}.[busy] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {slow}

INSERT INTO {schema}.[busy] ([id], [customer], [note])
SELECT TOP (3000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE UNIQUE CLUSTERED INDEX [busy_id] ON {schema}.[busy] ([id]) ON {slow}

CREATE INDEX [busy_customer] ON {schema}.[busy] ([customer]) ON {slow}

CREATE TABLE {schema}.[doomed] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {slow}

INSERT INTO {schema}.[doomed] ([id], [customer], [note])
SELECT TOP (1000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE UNIQUE CLUSTERED INDEX [doomed_id] ON {schema}.[doomed] ([id]) ON {slow}

CREATE TABLE {schema}.[grown] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {slow}

INSERT INTO {schema}.[grown] ([id], [customer], [note])
SELECT TOP (1000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE CLUSTERED INDEX [grown_id] ON {schema}.[grown] ([id]) ON {slow}
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[busy]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[busy]
-- == reading
-- uses {schema}.[busy]
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[busy] WITH (HOLDLOCK)
-- == writing
-- uses {schema}.[busy].[busy_customer]
UPDATE {schema}.[busy] SET [note] = [note] WHERE [id] = 1
-- == grow
-- grows {schema}.[grown]
INSERT INTO {schema}.[grown] ([id], [customer], [note])
SELECT TOP (30000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]
-- == vanish
-- drops {schema}.[doomed]
DROP TABLE {schema}.[doomed]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[busy] WHERE [id] = 17
-- == write
UPDATE {schema}.[busy] SET [note] = [note] WHERE [id] = 17
-- == drop
DROP TABLE {schema}.[busy]

DROP TABLE {schema}.[doomed]

DROP TABLE {schema}.[grown]
