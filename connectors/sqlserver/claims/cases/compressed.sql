-- A clustered index whose rows are compressed by the page, and an index of it by the row.
-- name: compressed
-- unit: table {schema}.[packed]
-- unit: index {schema}.[packed].[packed_customer]
-- == make
CREATE TABLE {schema}.[packed] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {slow}

INSERT INTO {schema}.[packed] ([id], [customer], [note])
SELECT TOP (4000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE UNIQUE CLUSTERED INDEX [packed_id] ON {schema}.[packed] ([id]) WITH (DATA_COMPRESSION = PAGE) ON {slow}

CREATE INDEX [packed_customer] ON {schema}.[packed] ([customer]) WITH (DATA_COMPRESSION = ROW) ON {slow}
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[packed]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[packed]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[packed] WHERE [id] = 17
-- == write
UPDATE {schema}.[packed] SET [note] = [note] WHERE [id] = 17
-- == drop
DROP TABLE {schema}.[packed]
