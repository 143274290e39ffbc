-- A partitioned table whose rows a security policy filters: its filled partitions are never copied and SWITCHed, as the copy
-- would have those rows alone that the policy shows. Security policies are known since 2016.
-- name: guarded
-- with: switched
-- refused: no_switch
-- unit: table partition {schema}.[guarded] partition 2
-- unit: table partition {schema}.[guarded] partition 3
-- unit: index partition {schema}.[guarded].[guarded_customer] partition 2
-- unit: index partition {schema}.[guarded].[guarded_customer] partition 3
-- == make
CREATE PARTITION FUNCTION {function guarded} (int) AS RANGE RIGHT FOR VALUES (1000, 2000)

CREATE PARTITION SCHEME {scheme guarded} AS PARTITION {function guarded} TO ({slow}, {slow}, {slow}, {slow})

CREATE TABLE {schema}.[guarded] ([id] int NOT NULL, [customer] int NOT NULL, [note] varchar(200) NULL) ON {scheme guarded} ([id])

ALTER TABLE {schema}.[guarded] ADD CONSTRAINT [guarded_pk] PRIMARY KEY CLUSTERED ([id]) ON {scheme guarded} ([id])

INSERT INTO {schema}.[guarded] ([id], [customer], [note])
SELECT TOP (3000) n.[i], n.[i] % 97, REPLICATE('x', n.[i] % 100)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE INDEX [guarded_customer] ON {schema}.[guarded] ([customer]) ON {scheme guarded} ([id])

CREATE FUNCTION {schema}.[guarded_rows] (@id int) RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT 1 AS [shown] WHERE @id % 3 <> 0

CREATE SECURITY POLICY {schema}.[guarded_policy] ADD FILTER PREDICATE {schema}.[guarded_rows]([id]) ON {schema}.[guarded] WITH (STATE = ON)
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[guarded]

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[guarded]
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[guarded] WHERE [id] = 17
-- == write
UPDATE {schema}.[guarded] SET [note] = [note] WHERE [id] = 17
-- == drop
DROP SECURITY POLICY {schema}.[guarded_policy]

DROP TABLE {schema}.[guarded]

DROP FUNCTION {schema}.[guarded_rows]

DROP PARTITION SCHEME {scheme guarded}

DROP PARTITION FUNCTION {function guarded}
