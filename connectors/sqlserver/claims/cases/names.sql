-- Names with brackets, quotes, a dot, blanks, a percent sign and letters beyond ASCII.
-- name: names
-- unit: table {schema}.[Ärger ]] "x".y %s 'z']
-- unit: index {schema}.[Ärger ]] "x".y %s 'z'].[ключ; -- {}]
-- == make
CREATE TABLE {schema}.[Ärger ]] "x".y %s 'z'] ([a ]]b] int NOT NULL, [%(c)s] varchar(100) NULL) ON {slow}

INSERT INTO {schema}.[Ärger ]] "x".y %s 'z'] ([a ]]b], [%(c)s])
SELECT TOP (2000) n.[i], REPLICATE('x', n.[i] % 50)
  FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS [i] FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS n
 ORDER BY n.[i]

CREATE UNIQUE CLUSTERED INDEX [odd] ON {schema}.[Ärger ]] "x".y %s 'z'] ([a ]]b]) ON {slow}

CREATE INDEX [ключ; -- {}] ON {schema}.[Ärger ]] "x".y %s 'z'] ([%(c)s]) ON {slow}
-- == data
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[Ärger ]] "x".y %s 'z']

SELECT CHECKSUM_AGG(BINARY_CHECKSUM(*)) AS [sum] FROM {schema}.[Ärger ]] "x".y %s 'z']
-- == read
SELECT COUNT_BIG(*) AS [rows] FROM {schema}.[Ärger ]] "x".y %s 'z'] WHERE [a ]]b] = 17
-- == write
UPDATE {schema}.[Ärger ]] "x".y %s 'z'] SET [%(c)s] = [%(c)s] WHERE [a ]]b] = 17
-- == drop
DROP TABLE {schema}.[Ärger ]] "x".y %s 'z']
