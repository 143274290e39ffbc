-- A table with an empty partition, whose range goes to another filegroup by the catalog alone. TRUNCATE of one partition is
-- known since 2016.
-- name: emptied
-- unit: table partition {schema}.[gone] partition 3
-- == make
CREATE PARTITION FUNCTION {function emptied} (int) AS RANGE RIGHT FOR VALUES (1000, 2000)

CREATE PARTITION SCHEME {scheme emptied} AS PARTITION {function emptied} TO ({slow}, {slow}, {slow}, {slow})

CREATE TABLE {schema}.[gone] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {scheme emptied} ([id])

ALTER TABLE {schema}.[gone] ADD CONSTRAINT [gone_pk] PRIMARY KEY CLUSTERED ([id]) ON {scheme emptied} ([id])

INSERT INTO {schema}.[gone] ([id], [customer], [note])
SELECT TOP (3000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

TRUNCATE TABLE {schema}.[gone] WITH (PARTITIONS (3))
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[gone]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[gone]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[gone] WHERE [id] = 17
-- == write
UPDATE {schema}.[gone] SET [note] = [note] WHERE [id] = 17
-- == drop
DROP TABLE {schema}.[gone]

DROP PARTITION SCHEME {scheme emptied}

DROP PARTITION FUNCTION {function emptied}
