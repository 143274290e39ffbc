-- A heap with a nonclustered primary key, an index with included columns, and one with a filter.
-- name: heap
-- quick: yes
-- unit: table {schema}.[heap]
-- unit: index {schema}.[heap].[heap_pk]
-- unit: index {schema}.[heap].[heap_customer]
-- unit: index {schema}.[heap].[heap_few]
-- == make
CREATE TABLE {schema}.[heap] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {slow}

INSERT INTO {schema}.[heap] ([id], [customer], [note])
SELECT TOP (4000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

ALTER TABLE {schema}.[heap] ADD CONSTRAINT [heap_pk] PRIMARY KEY NONCLUSTERED ([id]) ON {slow}

CREATE INDEX [heap_customer] ON {schema}.[heap] ([customer] DESC) INCLUDE ([note]) WITH (PAD_INDEX = ON, FILLFACTOR = 80) ON {slow}

CREATE INDEX [heap_few] ON {schema}.[heap] ([id]) WHERE ([customer]<(3)) ON {slow}
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[heap]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[heap]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[heap] WHERE [id] = 17
-- == write
UPDATE {schema}.[heap] SET [note] = [note] WHERE [id] = 17
-- == drop
DROP TABLE {schema}.[heap]
