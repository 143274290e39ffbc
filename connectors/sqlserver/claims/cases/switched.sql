-- A table on a partition scheme, of which filled partitions with all their indexes are copied and SWITCHed: partitions: switched.
-- name: switched
-- with: switched
-- unit: table partition {schema}.[shifts] partition 2
-- unit: table partition {schema}.[shifts] partition 3
-- unit: index partition {schema}.[shifts].[shifts_customer] partition 2
-- unit: index partition {schema}.[shifts].[shifts_customer] partition 3
-- == make
CREATE PARTITION FUNCTION {function switched} (int) AS RANGE RIGHT FOR VALUES (1000, 2000)

CREATE PARTITION SCHEME {scheme switched} AS PARTITION {function switched} TO ({slow}, {slow}, {slow}, {slow})

CREATE TABLE {schema}.[shifts] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {scheme switched} ([id])

ALTER TABLE {schema}.[shifts] ADD CONSTRAINT [shifts_pk] PRIMARY KEY CLUSTERED ([id]) ON {scheme switched} ([id])

INSERT INTO {schema}.[shifts] ([id], [customer], [note])
SELECT TOP (3000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE INDEX [shifts_customer] ON {schema}.[shifts] ([customer]) ON {scheme switched} ([id])
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[shifts]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[shifts]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[shifts] WHERE [id] = 17
-- == write
UPDATE {schema}.[shifts] SET [note] = [note] WHERE [id] = 17
-- == drop
DROP TABLE {schema}.[shifts]

DROP PARTITION SCHEME {scheme switched}

DROP PARTITION FUNCTION {function switched}
