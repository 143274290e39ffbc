-- A heap table with everything that usually hangs on one: constraints, indexes of expressions and with conditions, a
-- trigger, comments, row security, rights on the table and on a column, statistics that were asked for.
-- name: heap
-- quick: yes
-- unit: table {schema}.heap
-- unit: index {schema}.heap_pkey
-- unit: index {schema}.heap_lower
-- unit: index {schema}.heap_open
-- == make
CREATE TABLE {schema}.heap (
    id int GENERATED ALWAYS AS IDENTITY,
    customer int NOT NULL CHECK (customer >= 0),
    state text NOT NULL DEFAULT 'open' COLLATE "C",
    total numeric(12, 2) NOT NULL,
    doubled numeric GENERATED ALWAYS AS (total * 2) STORED,
    note text
) WITH (fillfactor = 80, autovacuum_enabled = false) TABLESPACE {slow}

INSERT INTO {schema}.heap (customer, state, total, note)
SELECT g % 97, CASE g % 10 WHEN 0 THEN 'open' ELSE 'done' END, g / 7.0, repeat(md5(g::text), 8)
  FROM generate_series(1, 12000) AS g

ALTER TABLE {schema}.heap ADD CONSTRAINT heap_pkey PRIMARY KEY (id) USING INDEX TABLESPACE {slow}

CREATE INDEX heap_lower ON {schema}.heap (lower(state) DESC NULLS LAST, customer) INCLUDE (total) WITH (fillfactor = 70)
TABLESPACE {slow}

CREATE UNIQUE INDEX heap_open ON {schema}.heap (customer, id) TABLESPACE {slow} WHERE state = 'open'

ALTER TABLE {schema}.heap CLUSTER ON heap_pkey

ALTER TABLE {schema}.heap REPLICA IDENTITY USING INDEX heap_pkey

ALTER TABLE {schema}.heap ALTER customer SET STATISTICS 321

ALTER INDEX {schema}.heap_lower ALTER COLUMN 1 SET STATISTICS 123

CREATE STATISTICS {schema}.heap_pair (dependencies, ndistinct) ON customer, state FROM {schema}.heap

CREATE TRIGGER heap_unchanged BEFORE UPDATE ON {schema}.heap
FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()

ALTER TABLE {schema}.heap ENABLE ROW LEVEL SECURITY

CREATE POLICY heap_all ON {schema}.heap USING (customer >= 0)

COMMENT ON TABLE {schema}.heap IS 'a comment on the table'

COMMENT ON INDEX {schema}.heap_lower IS 'a comment on the index'

GRANT SELECT ON {schema}.heap TO PUBLIC

GRANT UPDATE (note) ON {schema}.heap TO PUBLIC

VACUUM (ANALYZE) {schema}.heap
-- == data
SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY id)) FROM {schema}.heap AS t
-- == read
SELECT note FROM {schema}.heap WHERE id = 4711
-- == write
UPDATE {schema}.heap SET note = note || '' WHERE id = 4711
-- == drop
DROP TABLE IF EXISTS {schema}.heap
