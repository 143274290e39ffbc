-- Makes history and work of a ledger on PostgreSQL tables with a partition for each week, and the function that makes
-- the next ones and drops those whose weeks are past.
--
-- Run by: hotplace when it makes the tables or brings them up to date, within that transaction; no more than the
-- function again where it was run before. Since: PostgreSQL 13. Cost: once, what was measured is written again.
--
-- An agent may create no table, so the function is the owner's (SECURITY DEFINER). It takes no name and no bound: an
-- agent that lies about the time or about its own databases drops nothing of another one. Weeks begin on Thursday, as
-- 1970 did. ended_at is microseconds since then.

DO $$
DECLARE
    parent text;
    part record;
BEGIN
    FOREACH parent IN ARRAY ARRAY['history', 'work'] LOOP
        CONTINUE WHEN (SELECT relkind FROM pg_class WHERE oid = format('"@schema@".%I', parent)::regclass) = 'p';
        EXECUTE format('ALTER TABLE "@schema@".%I RENAME TO %I', parent, parent || '_before');
        FOR part IN SELECT indexrelid::regclass AS name, relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
                     WHERE indrelid = format('"@schema@".%I', parent || '_before')::regclass LOOP
            EXECUTE format('ALTER INDEX %s RENAME TO %I', part.name, part.relname || '_before');
        END LOOP;
        EXECUTE format('CREATE TABLE "@schema@".%I (LIKE "@schema@".%I INCLUDING DEFAULTS) PARTITION BY RANGE (ended_at)',
                       parent, parent || '_before');
        EXECUTE format('ALTER TABLE "@schema@".%I OWNER TO %I', parent,
                       (SELECT pg_get_userbyid(relowner) FROM pg_class
                         WHERE oid = format('"@schema@".%I', parent || '_before')::regclass));
        EXECUTE format('ALTER SEQUENCE "@schema@".%I OWNED BY "@schema@".%I.id', parent || '_id_seq', parent);
        EXECUTE format('ALTER TABLE "@schema@".%I ADD CONSTRAINT %I PRIMARY KEY (id, ended_at)',
                       parent, parent || '_pkey');
        EXECUTE format('CREATE INDEX %I ON "@schema@".%I (database, ended_at)', 'ix_' || parent || '_database', parent);
        IF parent = 'history' THEN
            CREATE INDEX ix_history_resolution_seconds ON "@schema@".history (resolution_seconds, ended_at);
        ELSE
            DELETE FROM "@schema@".statements;  -- agents keep them from now on, and none would remove those of before
        END IF;
        EXECUTE format('CREATE TABLE "@schema@".%I PARTITION OF "@schema@".%I DEFAULT', parent || '_other', parent);
        EXECUTE format('INSERT INTO "@schema@".%I SELECT * FROM "@schema@".%I', parent, parent || '_before');
        EXECUTE format('DROP TABLE "@schema@".%I', parent || '_before');
    END LOOP;
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
    parent text;
    other text;
    begins bigint;
    part record;
    part_name text;
    content record;
BEGIN
    dropped := 0;
    dropped_bytes := 0;
    SELECT coalesce(max(seconds) * 1000000, year) INTO longest FROM (
        SELECT CASE WHEN body ~ '^[0-9]{1,10}$' THEN body::bigint END AS seconds FROM documents
         WHERE name = 'history kept') AS kept;
    FOREACH parent IN ARRAY ARRAY['history', 'work'] LOOP
        other := parent || '_other';
        -- This week and the next two; and weeks of rows that came before theirs was made, or when it was gone already.
        FOR begins IN EXECUTE format(
            'SELECT $1 * ($2 / $1 + ahead) FROM generate_series(0, 2) AS ahead '
            ' UNION '
            'SELECT $1 * (ended_at / $1) FROM %I WHERE ended_at BETWEEN $2 - $3 AND $2 + 2 * $1 '
            ' ORDER BY 1', other) USING week, clock, year
        LOOP
            part_name := parent || '_' || to_char(to_timestamp(begins / 1000000) AT TIME ZONE 'UTC', 'YYYY_MM_DD');
            CONTINUE WHEN to_regclass(format('"@schema@".%I', part_name)) IS NOT NULL;
            -- A row for this week that came now would be in its way.
            EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', other);
            EXECUTE format('CREATE TABLE "@schema@".%I (LIKE %I INCLUDING DEFAULTS INCLUDING INDEXES)', part_name, parent);
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part_name);
            EXECUTE format('WITH taken AS (DELETE FROM %4$I WHERE ended_at >= %2$s AND ended_at < %3$s RETURNING *) '
                           'INSERT INTO %1$I SELECT * FROM taken', part_name, begins, begins + week, other);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                           parent, part_name, begins, begins + week);
        END LOOP;

        -- Rows of no week's partition: of clocks that were years away.
        EXECUTE format(
            'WITH gone AS ('
            '    DELETE FROM %I AS h WHERE ended_at <= $1 - $2 AND (ended_at <= $1 - $3 '
            '           OR database IN (SELECT d.database FROM documents AS d WHERE d.name = ''history kept'')) '
            '    RETURNING length(body) AS size) '
            'SELECT count(*) AS rows, coalesce(sum(size), 0) AS bytes FROM gone', other)
           INTO content USING past, longest, year;
        dropped := dropped + content.rows;
        dropped_bytes := dropped_bytes + content.bytes;
        FOR part IN
            SELECT inhrelid::regclass AS name,
                   (regexp_match(pg_get_expr(relpartbound, oid), 'TO \(''(\d+)''\)'))[1]::bigint AS ends
              FROM pg_inherits JOIN pg_class ON oid = inhrelid
             WHERE inhparent = parent::regclass
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
    END LOOP;
END $$;

SELECT "@schema@".keep_history(0);
