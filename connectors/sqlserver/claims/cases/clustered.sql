-- A clustered primary key with what hangs on a table: a unique constraint, an index, rights, extended properties.
-- name: clustered
-- unit: table {schema}.[orders]
-- unit: index {schema}.[orders].[orders_code]
-- unit: index {schema}.[orders].[orders_customer]
-- == make
CREATE TABLE {schema}.[orders] ([id] int NOT NULL, [code] varchar(20) NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {slow}

ALTER TABLE {schema}.[orders] ADD CONSTRAINT [orders_pk] PRIMARY KEY CLUSTERED ([id]) WITH (FILLFACTOR = 90) ON {slow}

INSERT INTO {schema}.[orders] ([id], [code], [customer], [note])
SELECT TOP (4000) n.[i], CONCAT('c', n.[i]), n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

ALTER TABLE {schema}.[orders] ADD CONSTRAINT [orders_code] UNIQUE NONCLUSTERED ([code]) WITH (IGNORE_DUP_KEY = OFF) ON {slow}

CREATE INDEX [orders_customer] ON {schema}.[orders] ([customer], [id] DESC) WITH (STATISTICS_NORECOMPUTE = ON, ALLOW_PAGE_LOCKS = OFF) ON {slow}

GRANT SELECT ON {schema}.[orders] TO [public]

EXEC sys.sp_addextendedproperty @name = N'what', @value = N'a table', @level0type = N'SCHEMA', @level0name = {literal}, @level1type = N'TABLE', @level1name = N'orders'

EXEC sys.sp_addextendedproperty @name = N'what', @value = N'an index', @level0type = N'SCHEMA', @level0name = {literal}, @level1type = N'TABLE', @level1name = N'orders', @level2type = N'INDEX', @level2name = N'orders_customer'
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[orders]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[orders]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[orders] WHERE [id] = 17
-- == write
UPDATE {schema}.[orders] SET [note] = [note] WHERE [id] = 17
-- == drop
DROP TABLE {schema}.[orders]
