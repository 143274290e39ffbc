-- A table with values of 5,000 characters out of row. With `lob_moves: true` they move with their table.
-- name: large_objects
-- unit: table {schema}.[documents]
-- unit: lob {schema}.[documents] lob
-- == make
CREATE TABLE {schema}.[documents] ([id] int NOT NULL, [body] varchar(max) NULL) ON {slow} TEXTIMAGE_ON {slow}

ALTER TABLE {schema}.[documents] ADD CONSTRAINT [documents_pk] PRIMARY KEY CLUSTERED ([id]) ON {slow}

INSERT INTO {schema}.[documents] ([id], [body])
SELECT TOP (300) n.[i], REPLICATE(CONVERT(varchar(max), CONCAT('x', n.[i] % 10)), 5000)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[documents]

SELECT CHECKSUM_AGG(CHECKSUM([id], DATALENGTH([body]), HASHBYTES('SHA2_256', SUBSTRING([body], 1, 8000)))) AS [sum] FROM {schema}.[documents]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[documents] WHERE [id] = 17
-- == write
UPDATE {schema}.[documents] SET [body] = [body] WHERE [id] = 17
-- == drop
DROP TABLE {schema}.[documents]
