-- A table in the filegroup that is given away, whose files go to another folder and come back: move_by: filegroup.
-- name: files
-- with: files
-- unit: table {schema}.[filed]
-- unit: index {schema}.[filed].[filed_customer]
-- == make
CREATE TABLE {schema}.[filed] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {throw}

INSERT INTO {schema}.[filed] ([id], [customer], [note])
SELECT TOP (4000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE UNIQUE CLUSTERED INDEX [filed_id] ON {schema}.[filed] ([id]) ON {throw}

CREATE INDEX [filed_customer] ON {schema}.[filed] ([customer]) ON {throw}
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[filed]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[filed]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[filed] WHERE [id] = 17
-- == write
UPDATE {schema}.[filed] SET [note] = [note] WHERE [id] = 17
-- == drop
DROP TABLE {schema}.[filed]
