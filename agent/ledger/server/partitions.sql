-- Makes the history of a ledger on PostgreSQL a table with a partition for each week, and the function that makes the
-- next ones and drops those whose weeks are past.
--
-- Run by: hotplace when it makes the tables or brings them up to date, within that transaction; no more than the
-- function again where it was run before. Since: PostgreSQL 13. Cost: once, history is written again.
--
-- An agent may create no table, so the function is the owner's (SECURITY DEFINER). It takes no name and no bound: an
-- agent that lies about the time or about its own databases drops nothing of another one. Weeks begin on Thursday, as
-- 1970 did. ended_at is microseconds since then.

DO $$
DECLARE
    part record;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = '"@schema@".history'::regclass) = 'p' THEN
        RETURN;
    END IF;
    ALTER TABLE "@schema@".history RENAME TO history_before;
    FOR part IN SELECT indexrelid::regclass AS name, relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
                 WHERE indrelid = '"@schema@".history_before'::regclass LOOP
        EXECUTE format('ALTER INDEX %s RENAME TO %I', part.name, part.relname || '_before');
    END LOOP;
    CREATE TABLE "@schema@".history (LIKE "@schema@".history_before INCLUDING DEFAULTS) PARTITION BY RANGE (ended_at);
    EXECUTE format('ALTER TABLE "@schema@".history OWNER TO %I',
                   (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = '"@schema@".history_before'::regclass));
    ALTER SEQUENCE "@schema@".history_id_seq OWNED BY "@schema@".history.id;
    ALTER TABLE "@schema@".history ADD CONSTRAINT history_pkey PRIMARY KEY (id, ended_at);
    CREATE INDEX ix_history_database ON "@schema@".history (database, ended_at);
    CREATE INDEX ix_history_resolution_seconds ON "@schema@".history (resolution_seconds, ended_at);
    CREATE TABLE "@schema@".history_other PARTITION OF "@schema@".history DEFAULT;
    INSERT INTO "@schema@".history SELECT * FROM "@schema@".history_before;
    DROP TABLE "@schema@".history_before;
END $$;

-- Drops the weeks that are past for every database in them, and makes those to come; which rows and bytes went.
--
--   agents_clock  microseconds: nothing is dropped that is not past by it and by the clock of this server
--
-- How long a database's history is kept is said by its agent, in seconds, in its document "history kept". A database
-- without one has had no agent since that was asked of agents: it is kept for a year.
CREATE OR REPLACE FUNCTION "@schema@".keep_history(agents_clock bigint, OUT dropped bigint, OUT dropped_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, "@schema@", pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    week constant bigint := 7 * 86400 * 1000000::bigint;
    year constant bigint := 366 * 86400 * 1000000::bigint;
    clock constant bigint := 1000000 * extract(epoch FROM clock_timestamp());
    past constant bigint := least(agents_clock, clock);
    longest bigint;
    begins bigint;
    part record;
    part_name text;
    content record;
BEGIN
    -- This week and the next two; and weeks of rows that came before theirs was made, or when it was gone already.
    FOR begins IN
        SELECT week * (clock / week + ahead) FROM generate_series(0, 2) AS ahead
         UNION
        SELECT week * (ended_at / week) FROM history_other WHERE ended_at BETWEEN clock - year AND clock + 2 * week
         ORDER BY 1
    LOOP
        part_name := 'history_' || to_char(to_timestamp(begins / 1000000) AT TIME ZONE 'UTC', 'YYYY_MM_DD');
        CONTINUE WHEN to_regclass(format('"@schema@".%I', part_name)) IS NOT NULL;
        LOCK TABLE history_other IN ACCESS EXCLUSIVE MODE;  -- a row for this week that came now would be in its way
        EXECUTE format('CREATE TABLE "@schema@".%I (LIKE history INCLUDING DEFAULTS INCLUDING INDEXES)', part_name);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part_name);
        EXECUTE format('WITH taken AS (DELETE FROM history_other WHERE ended_at >= %2$s AND ended_at < %3$s RETURNING *) '
                       'INSERT INTO %1$I SELECT * FROM taken', part_name, begins, begins + week);
        EXECUTE format('ALTER TABLE history ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                       part_name, begins, begins + week);
    END LOOP;

    SELECT coalesce(max(seconds) * 1000000, year) INTO longest FROM (
        SELECT CASE WHEN body ~ '^[0-9]{1,10}$' THEN body::bigint END AS seconds FROM documents
         WHERE name = 'history kept') AS kept;
    -- Rows of no week's partition: of clocks that were years away.
    WITH gone AS (
        DELETE FROM history_other AS h WHERE ended_at <= past - longest AND (ended_at <= past - year
               OR database IN (SELECT d.database FROM documents AS d WHERE d.name = 'history kept'))
        RETURNING length(body) AS size)
    SELECT count(*), coalesce(sum(size), 0) INTO dropped, dropped_bytes FROM gone;
    FOR part IN
        SELECT inhrelid::regclass AS name,
               (regexp_match(pg_get_expr(relpartbound, oid), 'TO \(''(\d+)''\)'))[1]::bigint AS ends
          FROM pg_inherits JOIN pg_class ON oid = inhrelid
         WHERE inhparent = 'history'::regclass
    LOOP
        CONTINUE WHEN part.ends IS NULL OR part.ends > past - longest;
        EXECUTE format('SELECT count(*) AS rows, coalesce(sum(length(body)), 0) AS bytes, '
                       'coalesce(bool_and(database IN (SELECT d.database FROM documents AS d '
                       'WHERE d.name = ''history kept'')), true) AS known FROM %s', part.name) INTO content;
        CONTINUE WHEN NOT content.known AND part.ends > past - year;
        EXECUTE format('DROP TABLE %s', part.name);
        dropped := dropped + content.rows;
        dropped_bytes := dropped_bytes + content.bytes;
    END LOOP;
END $$;

SELECT "@schema@".keep_history(0);
