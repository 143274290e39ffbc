-- A table whose rows are large enough to be stored out of line: its TOAST table moves with it.
-- name: toast
-- unit: table {schema}.documents
-- unit: index {schema}.documents_pkey
-- == make
CREATE TABLE {schema}.documents (id int NOT NULL, body text) TABLESPACE {slow}

ALTER TABLE {schema}.documents ALTER body SET STORAGE EXTERNAL

INSERT INTO {schema}.documents SELECT g, repeat(md5(g::text), 400) FROM generate_series(1, 200) AS g

ALTER TABLE {schema}.documents ADD PRIMARY KEY (id) USING INDEX TABLESPACE {slow}

VACUUM (ANALYZE) {schema}.documents
-- == data
SELECT count(*), md5(string_agg(md5(body), '' ORDER BY id)) FROM {schema}.documents
-- == read
SELECT length(body) FROM {schema}.documents WHERE id = 77
-- == write
UPDATE {schema}.documents SET id = id WHERE id = 77
-- == drop
DROP TABLE IF EXISTS {schema}.documents
