-- A table on a partition scheme that has NEXT USED, with an aligned index: each partition of each moves alone.
-- name: partitioned
-- unit: table partition {schema}.[days] partition 1
-- unit: table partition {schema}.[days] partition 2
-- unit: table partition {schema}.[days] partition 3
-- unit: index partition {schema}.[days].[days_customer] partition 1
-- unit: index partition {schema}.[days].[days_customer] partition 2
-- unit: index partition {schema}.[days].[days_customer] partition 3
-- == make
CREATE PARTITION FUNCTION {function} (int) AS RANGE RIGHT FOR VALUES (1000, 2000)

CREATE PARTITION SCHEME {scheme} AS PARTITION {function} TO ({slow}, {slow}, {slow}, {slow})

CREATE TABLE {schema}.[days] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {scheme} ([id])

ALTER TABLE {schema}.[days] ADD CONSTRAINT [days_pk] PRIMARY KEY CLUSTERED ([id]) ON {scheme} ([id])

INSERT INTO {schema}.[days] ([id], [customer], [note])
SELECT TOP (3000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE INDEX [days_customer] ON {schema}.[days] ([customer]) ON {scheme} ([id])
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[days]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[days]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[days] WHERE [id] = 17
-- == write
UPDATE {schema}.[days] SET [note] = [note] WHERE [id] = 17
-- == drop
DROP TABLE {schema}.[days]

DROP PARTITION SCHEME {scheme}

DROP PARTITION FUNCTION {function}
