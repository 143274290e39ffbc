-- A clustered columnstore index. On servers before 2014 it is not made.
-- name: columnstore
-- unit: table {schema}.[facts]
-- == make
CREATE TABLE {schema}.[facts] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {slow}

INSERT INTO {schema}.[facts] ([id], [customer], [note])
SELECT TOP (4000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE CLUSTERED COLUMNSTORE INDEX [facts_store] ON {schema}.[facts] ON {slow}
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[facts]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[facts]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[facts] WHERE [id] = 17
-- == write
UPDATE {schema}.[facts] SET [note] = [note] WHERE [id] = 17
-- == drop
DROP TABLE {schema}.[facts]
