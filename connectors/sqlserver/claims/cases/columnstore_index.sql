-- A nonclustered columnstore index of a clustered table. Before 2016 it makes its table read-only.
-- name: columnstore_index
-- unit: table {schema}.[measured]
-- unit: index {schema}.[measured].[measured_store]
-- == make
CREATE TABLE {schema}.[measured] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {slow}

INSERT INTO {schema}.[measured] ([id], [customer], [note])
SELECT TOP (4000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE UNIQUE CLUSTERED INDEX [measured_id] ON {schema}.[measured] ([id]) ON {slow}

CREATE NONCLUSTERED COLUMNSTORE INDEX [measured_store] ON {schema}.[measured] ([customer], [note]) ON {slow}
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[measured]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[measured]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[measured] WHERE [id] = 17
-- == write
-- == drop
DROP TABLE {schema}.[measured]
