-- Names with quotes, a dot, blanks, a percent sign, what looks like a parameter, letters beyond ASCII and a full 63 bytes.
-- name: names
-- unit: table {schema}."Ärger ""x"".y %s"
-- unit: index {schema}."ключ; -- {}\"
-- unit: table {schema}.a23456789_123456789_123456789_123456789_123456789_123456789_123
-- == make
CREATE TABLE {schema}."Ärger ""x"".y %s" ("a ""b""" int NOT NULL, "%(c)s" text) TABLESPACE {slow}

INSERT INTO {schema}."Ärger ""x"".y %s" SELECT g, md5(g::text) FROM generate_series(1, 2000) AS g

CREATE UNIQUE INDEX "ключ; -- {}\" ON {schema}."Ärger ""x"".y %s" ("a ""b""") TABLESPACE {slow}

CREATE TABLE {schema}.a23456789_123456789_123456789_123456789_123456789_123456789_123 (n int) TABLESPACE {slow}

INSERT INTO {schema}.a23456789_123456789_123456789_123456789_123456789_123456789_123 SELECT generate_series(1, 1000)

ANALYZE {schema}."Ärger ""x"".y %s"

ANALYZE {schema}.a23456789_123456789_123456789_123456789_123456789_123456789_123
-- == data
SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY "a ""b""")) FROM {schema}."Ärger ""x"".y %s" AS t

SELECT count(*), sum(n) FROM {schema}.a23456789_123456789_123456789_123456789_123456789_123456789_123
-- == read
SELECT "%(c)s" FROM {schema}."Ärger ""x"".y %s" WHERE "a ""b""" = 5
-- == write
UPDATE {schema}."Ärger ""x"".y %s" SET "%(c)s" = "%(c)s" || '' WHERE "a ""b""" = 5
-- == drop
DROP TABLE IF EXISTS {schema}."Ärger ""x"".y %s"

DROP TABLE IF EXISTS {schema}.a23456789_123456789_123456789_123456789_123456789_123456789_123
