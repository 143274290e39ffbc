-- A ledger of revision v0010 on PostgreSQL 15, as commit cbbebc6f kept it there (pg_dump --inserts): moved from the file
-- v0010.sql by that version's `hotplace ledger move`, with an open approval, a rule, a pin and hours of history.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA hotplace;
CREATE FUNCTION hotplace.keep_history(agents_clock bigint, OUT dropped bigint, OUT dropped_bytes bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'hotplace', 'pg_temp'
    SET lock_timeout TO '1s'
    AS $_$
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
            CONTINUE WHEN to_regclass(format('"hotplace".%I', part_name)) IS NOT NULL;
            -- A row for this week that came now would be in its way.
            EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', other);
            EXECUTE format('CREATE TABLE "hotplace".%I (LIKE %I INCLUDING DEFAULTS INCLUDING INDEXES)', part_name, parent);
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
END $_$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE hotplace.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE hotplace.array_columns (
    database text NOT NULL,
    name text NOT NULL,
    "column" text NOT NULL,
    digest text NOT NULL
);
CREATE TABLE hotplace.arrays (
    database text NOT NULL,
    name text NOT NULL,
    at bigint NOT NULL,
    body bytea NOT NULL
);
CREATE TABLE hotplace.asks (
    id integer NOT NULL,
    move_id integer NOT NULL,
    kind text NOT NULL,
    who text NOT NULL,
    origin text NOT NULL,
    reason text NOT NULL,
    at bigint NOT NULL,
    answer text NOT NULL
);
CREATE SEQUENCE hotplace.asks_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.asks_id_seq OWNED BY hotplace.asks.id;
CREATE TABLE hotplace.audit (
    id integer NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    event text NOT NULL,
    subject text NOT NULL,
    facts text NOT NULL,
    previous text NOT NULL,
    hash text NOT NULL
);
CREATE TABLE hotplace.audit_head (
    id integer NOT NULL,
    last_id integer NOT NULL,
    hash text NOT NULL
);
CREATE SEQUENCE hotplace.audit_head_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.audit_head_id_seq OWNED BY hotplace.audit_head.id;
CREATE SEQUENCE hotplace.audit_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.audit_id_seq OWNED BY hotplace.audit.id;
CREATE TABLE hotplace.closed_spaces (
    database text NOT NULL,
    space text NOT NULL,
    who text NOT NULL,
    reason text NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE hotplace.documents (
    database text NOT NULL,
    name text NOT NULL,
    at bigint NOT NULL,
    body text NOT NULL
);
CREATE TABLE hotplace.history (
    id integer NOT NULL,
    database text NOT NULL,
    resolution_seconds integer NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    seconds double precision NOT NULL,
    signals integer NOT NULL,
    body bytea NOT NULL
)
PARTITION BY RANGE (ended_at);
CREATE SEQUENCE hotplace.history_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.history_id_seq OWNED BY hotplace.history.id;
CREATE TABLE hotplace.history_2026_11_26 (
    id integer DEFAULT nextval('hotplace.history_id_seq'::regclass) NOT NULL,
    database text NOT NULL,
    resolution_seconds integer NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    seconds double precision NOT NULL,
    signals integer NOT NULL,
    body bytea NOT NULL
);
CREATE TABLE hotplace.history_2026_12_03 (
    id integer DEFAULT nextval('hotplace.history_id_seq'::regclass) NOT NULL,
    database text NOT NULL,
    resolution_seconds integer NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    seconds double precision NOT NULL,
    signals integer NOT NULL,
    body bytea NOT NULL
);
CREATE TABLE hotplace.history_2026_12_10 (
    id integer DEFAULT nextval('hotplace.history_id_seq'::regclass) NOT NULL,
    database text NOT NULL,
    resolution_seconds integer NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    seconds double precision NOT NULL,
    signals integer NOT NULL,
    body bytea NOT NULL
);
CREATE TABLE hotplace.history_other (
    id integer DEFAULT nextval('hotplace.history_id_seq'::regclass) NOT NULL,
    database text NOT NULL,
    resolution_seconds integer NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    seconds double precision NOT NULL,
    signals integer NOT NULL,
    body bytea NOT NULL
);
CREATE TABLE hotplace.leases (
    database text NOT NULL,
    token bigint NOT NULL,
    holder text NOT NULL,
    session text NOT NULL,
    seconds double precision NOT NULL,
    expires_at bigint
);
CREATE TABLE hotplace.moves (
    id integer NOT NULL,
    proposal_id integer NOT NULL,
    ordinal integer NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    attempts integer NOT NULL,
    updated_at bigint NOT NULL
);
CREATE SEQUENCE hotplace.moves_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.moves_id_seq OWNED BY hotplace.moves.id;
CREATE TABLE hotplace.outcomes (
    id integer NOT NULL,
    move_id integer NOT NULL,
    at bigint NOT NULL,
    body text NOT NULL
);
CREATE SEQUENCE hotplace.outcomes_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.outcomes_id_seq OWNED BY hotplace.outcomes.id;
CREATE TABLE hotplace.pins (
    id integer NOT NULL,
    database text NOT NULL,
    pattern text NOT NULL,
    pin integer NOT NULL,
    who text NOT NULL,
    reason text NOT NULL,
    created_at bigint NOT NULL,
    until bigint
);
CREATE SEQUENCE hotplace.pins_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.pins_id_seq OWNED BY hotplace.pins.id;
CREATE TABLE hotplace.placements (
    database text NOT NULL,
    unit_key text NOT NULL,
    placed_at bigint NOT NULL
);
CREATE TABLE hotplace.proposals (
    id integer NOT NULL,
    database text NOT NULL,
    fingerprint text NOT NULL,
    digest text NOT NULL,
    same_work text NOT NULL,
    body text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    decided_at bigint,
    decided_by text NOT NULL,
    decided_from text NOT NULL,
    approved_digest text
);
CREATE SEQUENCE hotplace.proposals_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.proposals_id_seq OWNED BY hotplace.proposals.id;
CREATE TABLE hotplace.shared_columns (
    digest text NOT NULL,
    body bytea NOT NULL
);
CREATE TABLE hotplace.statements (
    id integer NOT NULL,
    database text NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    body bytea NOT NULL
);
CREATE SEQUENCE hotplace.statements_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.statements_id_seq OWNED BY hotplace.statements.id;
CREATE TABLE hotplace.steps (
    id integer NOT NULL,
    move_id integer NOT NULL,
    ordinal integer NOT NULL,
    sql text NOT NULL,
    state text NOT NULL,
    detail text NOT NULL,
    intended_at bigint NOT NULL,
    ended_at bigint
);
CREATE SEQUENCE hotplace.steps_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.steps_id_seq OWNED BY hotplace.steps.id;
CREATE TABLE hotplace.unit_slots (
    database text NOT NULL,
    slot integer NOT NULL,
    unit_key text NOT NULL
);
CREATE TABLE hotplace.work (
    id integer NOT NULL,
    database text NOT NULL,
    ended_at bigint NOT NULL,
    seconds double precision NOT NULL,
    body text NOT NULL
)
PARTITION BY RANGE (ended_at);
CREATE SEQUENCE hotplace.work_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hotplace.work_id_seq OWNED BY hotplace.work.id;
CREATE TABLE hotplace.work_2026_11_26 (
    id integer DEFAULT nextval('hotplace.work_id_seq'::regclass) NOT NULL,
    database text NOT NULL,
    ended_at bigint NOT NULL,
    seconds double precision NOT NULL,
    body text NOT NULL
);
CREATE TABLE hotplace.work_2026_12_03 (
    id integer DEFAULT nextval('hotplace.work_id_seq'::regclass) NOT NULL,
    database text NOT NULL,
    ended_at bigint NOT NULL,
    seconds double precision NOT NULL,
    body text NOT NULL
);
CREATE TABLE hotplace.work_2026_12_10 (
    id integer DEFAULT nextval('hotplace.work_id_seq'::regclass) NOT NULL,
    database text NOT NULL,
    ended_at bigint NOT NULL,
    seconds double precision NOT NULL,
    body text NOT NULL
);
CREATE TABLE hotplace.work_other (
    id integer DEFAULT nextval('hotplace.work_id_seq'::regclass) NOT NULL,
    database text NOT NULL,
    ended_at bigint NOT NULL,
    seconds double precision NOT NULL,
    body text NOT NULL
);
ALTER TABLE ONLY hotplace.history ATTACH PARTITION hotplace.history_2026_11_26 FOR VALUES FROM ('1795651200000000') TO ('1796256000000000');
ALTER TABLE ONLY hotplace.history ATTACH PARTITION hotplace.history_2026_12_03 FOR VALUES FROM ('1796256000000000') TO ('1796860800000000');
ALTER TABLE ONLY hotplace.history ATTACH PARTITION hotplace.history_2026_12_10 FOR VALUES FROM ('1796860800000000') TO ('1797465600000000');
ALTER TABLE ONLY hotplace.history ATTACH PARTITION hotplace.history_other DEFAULT;
ALTER TABLE ONLY hotplace.work ATTACH PARTITION hotplace.work_2026_11_26 FOR VALUES FROM ('1795651200000000') TO ('1796256000000000');
ALTER TABLE ONLY hotplace.work ATTACH PARTITION hotplace.work_2026_12_03 FOR VALUES FROM ('1796256000000000') TO ('1796860800000000');
ALTER TABLE ONLY hotplace.work ATTACH PARTITION hotplace.work_2026_12_10 FOR VALUES FROM ('1796860800000000') TO ('1797465600000000');
ALTER TABLE ONLY hotplace.work ATTACH PARTITION hotplace.work_other DEFAULT;
ALTER TABLE ONLY hotplace.asks ALTER COLUMN id SET DEFAULT nextval('hotplace.asks_id_seq'::regclass);
ALTER TABLE ONLY hotplace.audit ALTER COLUMN id SET DEFAULT nextval('hotplace.audit_id_seq'::regclass);
ALTER TABLE ONLY hotplace.audit_head ALTER COLUMN id SET DEFAULT nextval('hotplace.audit_head_id_seq'::regclass);
ALTER TABLE ONLY hotplace.history ALTER COLUMN id SET DEFAULT nextval('hotplace.history_id_seq'::regclass);
ALTER TABLE ONLY hotplace.moves ALTER COLUMN id SET DEFAULT nextval('hotplace.moves_id_seq'::regclass);
ALTER TABLE ONLY hotplace.outcomes ALTER COLUMN id SET DEFAULT nextval('hotplace.outcomes_id_seq'::regclass);
ALTER TABLE ONLY hotplace.pins ALTER COLUMN id SET DEFAULT nextval('hotplace.pins_id_seq'::regclass);
ALTER TABLE ONLY hotplace.proposals ALTER COLUMN id SET DEFAULT nextval('hotplace.proposals_id_seq'::regclass);
ALTER TABLE ONLY hotplace.statements ALTER COLUMN id SET DEFAULT nextval('hotplace.statements_id_seq'::regclass);
ALTER TABLE ONLY hotplace.steps ALTER COLUMN id SET DEFAULT nextval('hotplace.steps_id_seq'::regclass);
ALTER TABLE ONLY hotplace.work ALTER COLUMN id SET DEFAULT nextval('hotplace.work_id_seq'::regclass);
INSERT INTO hotplace.alembic_version VALUES ('v0010');
INSERT INTO hotplace.arrays VALUES ('shop', 'heat', 1772366525000000, '\x28b52ffd2440250100f001130000005b5b2261222c20223c6938222c205b355d5d5d00010203040001003ac00980ae88b7');
INSERT INTO hotplace.asks VALUES (1, 3, 'pause', 'ann', 'terminal', 'busy', 1772366525000000, '');
INSERT INTO hotplace.audit VALUES (1, 1772366400000000, 'test', 'ledger.created', 'ledger.db', '{"now": "v0010", "was": ""}', '0000000000000000000000000000000000000000000000000000000000000000', '1674a59192ef641cceed43a81633bd215495bceac146eb78b1fb0bacebaf0fc4');
INSERT INTO hotplace.audit VALUES (2, 1772366400000000, 'test', 'proposal.stored', 'proposal 1', '{"database": "shop", "digest": "d6f7365bccd97543444c2983cd936c6c32409250807ff1dd7615310c5f12ef4e", "moves": 1}', '1674a59192ef641cceed43a81633bd215495bceac146eb78b1fb0bacebaf0fc4', '1d46eaa35bb46736e10afc2e11f1bc99f61d20029469e3a056500affaebf1051');
INSERT INTO hotplace.audit VALUES (3, 1772366400000000, 'test', 'proposal.rejected', 'proposal 1', '{"digest": "d6f7365bccd97543444c2983cd936c6c32409250807ff1dd7615310c5f12ef4e", "moves": [1], "origin": "terminal", "reason": "not now", "who": "bert"}', '1d46eaa35bb46736e10afc2e11f1bc99f61d20029469e3a056500affaebf1051', '430a171479980625988d0180796f8adee36e49dd1b50fd9c39bd21df0d885f6a');
INSERT INTO hotplace.audit VALUES (4, 1772366460000000, 'test', 'proposal.stored', 'proposal 2', '{"database": "shop", "digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "moves": 2}', '430a171479980625988d0180796f8adee36e49dd1b50fd9c39bd21df0d885f6a', '41b86c0b50d93e96ebe87bc04a52866b928e4d0cdb485a1d72bdfed59f3e0edf');
INSERT INTO hotplace.audit VALUES (5, 1772366460000000, 'test', 'proposal.signed', 'proposal 2', '{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "key": "SHA256:HbZptZMhNpGSUaZHQfasiqKyLBwpa2mDwCr3B2BnCkU", "moves": [1, 2], "origin": "terminal", "sequence": 4, "signature": "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgJ0a7z6TAuBfa3NWwqdMqw4qAy1\nAPuaLIE+tCoP1q0YcAAAARaG90cGxhY2UtYXBwcm92YWwAAAAAAAAABnNoYTUxMgAAAFMA\nAAALc3NoLWVkMjU1MTkAAABAFMb0edihtwTuITn/Bd+yKBL4PPPgTO1Sac5UKmxWMbaswl\ng0MmCDEY1NrTZlbNqw8ObMMH9T0wmi6jvaUg52Bw==\n-----END SSH SIGNATURE-----\n", "who": "anna"}', '41b86c0b50d93e96ebe87bc04a52866b928e4d0cdb485a1d72bdfed59f3e0edf', 'bd3f4bb5dd3d08bbdd422f1c21b5113b0a5be75e22121671e5f5e6a23dfd0e18');
INSERT INTO hotplace.audit VALUES (6, 1772366460000000, 'test', 'proposal.approved', 'proposal 2', '{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "moves": [1, 2], "origin": "terminal", "reason": "", "who": "anna"}', 'bd3f4bb5dd3d08bbdd422f1c21b5113b0a5be75e22121671e5f5e6a23dfd0e18', '055e38ece9bd75acf13f4f0f87e101a9957674f6e7f6fb8404ee249755a85b75');
INSERT INTO hotplace.audit VALUES (7, 1772366520000000, 'test', 'move.precheck', 'move 2', '{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "reason": "as planned", "was": "approved"}', '055e38ece9bd75acf13f4f0f87e101a9957674f6e7f6fb8404ee249755a85b75', '551340081b019d633cacb31d2720947c79a4916808326f413384ba76422af864');
INSERT INTO hotplace.audit VALUES (8, 1772366520000000, 'test', 'move.running', 'move 2', '{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "reason": "as planned", "was": "precheck"}', '551340081b019d633cacb31d2720947c79a4916808326f413384ba76422af864', '8bb2c98643649df3181ab2a443e1ecb04df9657fc900211153212e5c0400a706');
INSERT INTO hotplace.audit VALUES (9, 1772366520000000, 'test', 'step.intended', 'step 1', '{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "move": 2, "ordinal": 1, "sql": "ALTER TABLE public.t2 SET TABLESPACE fast"}', '8bb2c98643649df3181ab2a443e1ecb04df9657fc900211153212e5c0400a706', '7fb9af28554f9495ca57619cdbeca1d57ac4699a7932c643eba8ad15aa3642ec');
INSERT INTO hotplace.audit VALUES (10, 1772366525000000, 'test', 'step.done', 'step 1', '{"detail": ""}', '7fb9af28554f9495ca57619cdbeca1d57ac4699a7932c643eba8ad15aa3642ec', 'ff87f3b70ebfdf8eeeb9b967dab76ad0a51833c076baca9beae064ccfca6e68a');
INSERT INTO hotplace.audit VALUES (11, 1772366525000000, 'test', 'move.placed', 'move 2', '{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "reason": "as planned", "was": "running"}', 'ff87f3b70ebfdf8eeeb9b967dab76ad0a51833c076baca9beae064ccfca6e68a', '9d1970755cfe49b24d7df165452526e0f819e25dd3819845925c562ca4c3b4de');
INSERT INTO hotplace.audit VALUES (12, 1772366525000000, 'test', 'move.settling', 'move 2', '{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "reason": "as planned", "was": "placed"}', '9d1970755cfe49b24d7df165452526e0f819e25dd3819845925c562ca4c3b4de', '04567609b066918ef6f5aedcbbb6979621fb55ff14b72dfe381537b5aa19e292');
INSERT INTO hotplace.audit VALUES (13, 1772366525000000, 'test', 'proposal.stored', 'proposal 3', '{"database": "hr", "digest": "4778066018743d7ec52ea75a4b93f10e4c14b5f875bd1954ac27485613a45d51", "moves": 1}', '04567609b066918ef6f5aedcbbb6979621fb55ff14b72dfe381537b5aa19e292', 'e1b5e98698e65ad5bea41bc11c0b51dae376eda1c35983e0a33b1ca127e7529d');
INSERT INTO hotplace.audit VALUES (14, 1772366525000000, 'test', 'pin.set', 'shop public.t9', '{"pin": "none", "reason": "is read at night", "until": null, "who": "anna"}', 'e1b5e98698e65ad5bea41bc11c0b51dae376eda1c35983e0a33b1ca127e7529d', 'd17f92a56d839fe587f1a2a46cd803da1fd2014204e809f33e882a15fbd04302');
INSERT INTO hotplace.audit VALUES (15, 1772366525000000, 'test', 'move.asked.pause', 'move 3', '{"digest": "2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b", "origin": "terminal", "reason": "busy", "state": "approved", "who": "ann"}', 'd17f92a56d839fe587f1a2a46cd803da1fd2014204e809f33e882a15fbd04302', '628917e7bd2d6e5890af87ae50ea8d2501884544135fd87332b145249edde30d');
INSERT INTO hotplace.audit VALUES (16, 1772366525000000, 'test', 'space.closed', 'shop hdd', '{"reason": "retired", "who": "ann"}', '628917e7bd2d6e5890af87ae50ea8d2501884544135fd87332b145249edde30d', 'bee459d2acca6b9a21f1d6b6977be9a93a1271b2b7939be7e1c5424c64d53143');
INSERT INTO hotplace.audit VALUES (17, 1772366525000000, 'test', 'rule.proposed', 'rule 1', '{"limits": {"database": "shop", "expires_at": "2026-03-31T12:02:05+00:00", "fingerprint": "cluster 1 database 5", "least_gain_per_hour": 600.0, "locks": "brief", "mode": "hsm", "most_a_day": 2, "most_bytes": 134217728, "most_stall_seconds": 1.0, "time_zone": "UTC", "units": ["public.*"], "windows": []}, "origin": "terminal", "who": "bert"}', 'bee459d2acca6b9a21f1d6b6977be9a93a1271b2b7939be7e1c5424c64d53143', '0167c037cfa6b21d1f88c8fe572448179262adc7a2c5e13c7dd2bdced77e6cc5');
INSERT INTO hotplace.audit VALUES (18, 1772366525000000, 'test', 'rule.signed', 'rule 1', '{"key": "SHA256:HbZptZMhNpGSUaZHQfasiqKyLBwpa2mDwCr3B2BnCkU", "origin": "terminal", "sequence": 17, "signature": "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgJ0a7z6TAuBfa3NWwqdMqw4qAy1\nAPuaLIE+tCoP1q0YcAAAANaG90cGxhY2UtcnVsZQAAAAAAAAAGc2hhNTEyAAAAUwAAAAtz\nc2gtZWQyNTUxOQAAAEA1PfGJcUP+KTqsFXgDNmyem/WIUUkRDJrc9hqr6zjdkDpz2F7Plv\nC5I3iq1SSLmWTYn7ex68A+cceKIQgS+tAJ\n-----END SSH SIGNATURE-----\n", "who": "anna"}', '0167c037cfa6b21d1f88c8fe572448179262adc7a2c5e13c7dd2bdced77e6cc5', 'efc966175ee272fbdd2705644250919f6b3500eb0fd8b288231e0f6f116e4187');
INSERT INTO hotplace.audit VALUES (19, 1772366525000000, 'test', 'rule.opened', 'rule 1', '{"origin": "terminal", "who": "anna"}', 'efc966175ee272fbdd2705644250919f6b3500eb0fd8b288231e0f6f116e4187', '184a5f62e68a13a5222e9d3824a3c3f128fdddf3dbf24ed42d9aa383a005f86c');
INSERT INTO hotplace.audit VALUES (20, 1772366525000000, 'test', 'proposal.stored', 'proposal 4', '{"database": "shop", "digest": "c4cab44e12fd2893a8d48958f7b42e18a0004129f1f94d1aa455a03612eed6e8", "moves": 1}', '184a5f62e68a13a5222e9d3824a3c3f128fdddf3dbf24ed42d9aa383a005f86c', 'bf2019ffb1dbe024bc66e05f1149fafe3aade33bdf35067c2b687525df96f836');
INSERT INTO hotplace.audit VALUES (21, 1772366525000000, 'test', 'proposal.approved', 'proposal 4', '{"conditions": {"least_gain_per_hour": 600.0, "most_bytes": 134217728, "not_after": "2026-03-31T12:02:05+00:00"}, "digest": "c4cab44e12fd2893a8d48958f7b42e18a0004129f1f94d1aa455a03612eed6e8", "moves": [1], "origin": "level auto", "reason": "within its limits", "rule": 1, "who": "standing rule 1 of anna"}', 'bf2019ffb1dbe024bc66e05f1149fafe3aade33bdf35067c2b687525df96f836', '6337c2ac31f9bf38fd4e6bc47bcc21c60d055fd640acae5b521c48ac73dbd24e');
INSERT INTO hotplace.audit VALUES (22, 1772366700000000, 'root@db1, process 7', 'ledger.moved', 'hotplace', '{"was": "/var/lib/hotplace/ledger.db"}', '6337c2ac31f9bf38fd4e6bc47bcc21c60d055fd640acae5b521c48ac73dbd24e', '0fdc188d5cc1b71cdf3332e7d7b38a1cacd33ecc5d713d7c1e1ff38a8cd8fc6f');
INSERT INTO hotplace.audit_head VALUES (1, 22, '0fdc188d5cc1b71cdf3332e7d7b38a1cacd33ecc5d713d7c1e1ff38a8cd8fc6f');
INSERT INTO hotplace.closed_spaces VALUES ('shop', 'hdd', 'ann', 'retired', 1772366525000000);
INSERT INTO hotplace.documents VALUES ('shop', 'status', 1772366525000000, '{"kept": 1}');
INSERT INTO hotplace.history_other VALUES (1, 'shop', 3600, 1772366465000000, 1772366525000000, 60, 1, '\x28b52ffd2418a5000070010001000200030400000000000001001b2802d2a7ff3c');
INSERT INTO hotplace.leases VALUES ('shop', 1, 'test', '51c0cb32063b9cf3', 0, NULL);
INSERT INTO hotplace.moves VALUES (1, 1, 1, 'rejected', 'not now', 0, 1772366400000000);
INSERT INTO hotplace.moves VALUES (2, 2, 1, 'settling', 'as planned', 1, 1772366525000000);
INSERT INTO hotplace.moves VALUES (3, 2, 2, 'approved', '', 0, 1772366460000000);
INSERT INTO hotplace.moves VALUES (4, 3, 1, 'proposed', '', 0, 1772366525000000);
INSERT INTO hotplace.moves VALUES (5, 4, 1, 'approved', 'within its limits', 0, 1772366525000000);
INSERT INTO hotplace.pins VALUES (1, 'shop', 'public.t9', 0, 'anna', 'is read at night', 1772366525000000, NULL);
INSERT INTO hotplace.placements VALUES ('shop', 'public.t2', 1772366525000000);
INSERT INTO hotplace.proposals VALUES (1, 'shop', 'cluster 1 database 5', 'd6f7365bccd97543444c2983cd936c6c32409250807ff1dd7615310c5f12ef4e', '172ed0008014177a25510b1c897484c040b7ef8aaecf893484e4273caae3db9c', '{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t1","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"arguments":[],"bundle":{"container":"","homes":[],"key":"public.t1","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t1"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t1","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t1 back","resume_sql":"","sql":"ALTER TABLE public.t1 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}', 'rejected', 'not now', 1772366400000000, 1772452800000000, 1772366400000000, 'bert', 'terminal', NULL);
INSERT INTO hotplace.proposals VALUES (2, 'shop', 'cluster 1 database 5', '2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b', '83e5ca63c47d065db8257dbafb2efc69f199f263dad84306f7465d066dfcdfa9', '{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t2","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"arguments":[],"bundle":{"container":"","homes":[],"key":"public.t2","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t2"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t2","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t2 back","resume_sql":"","sql":"ALTER TABLE public.t2 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0},{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t3","limit_bytes":null,"ordinal":2,"payback_seconds":8.0,"reason":"promote","route":{"arguments":[],"bundle":{"container":"","homes":[],"key":"public.t3","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t3"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t3","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t3 back","resume_sql":"","sql":"ALTER TABLE public.t3 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}', 'approved', '', 1772366400000000, 1772452800000000, 1772366460000000, 'anna', 'terminal', '2907a6e52f96201697c7980d3c40349ca21475969e49ccff239d6dc90496d15b');
INSERT INTO hotplace.proposals VALUES (3, 'hr', 'cluster 1 database 5', '4778066018743d7ec52ea75a4b93f10e4c14b5f875bd1954ac27485613a45d51', '777101b92f0090846a928ace4a8a006787573cc9c93544aad96db166f3597958', '{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"hr","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t4","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"arguments":[],"bundle":{"container":"","homes":[],"key":"public.t4","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t4"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.0,"locked":null,"locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t4","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t4 back","resume_sql":"","sql":"ALTER TABLE public.t4 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":null,"wait_saved_low_per_hour":null,"wait_saved_per_hour":900.0}', 'proposed', '', 1772366400000000, 1772452800000000, NULL, '', '', NULL);
INSERT INTO hotplace.proposals VALUES (4, 'shop', 'cluster 1 database 5', 'c4cab44e12fd2893a8d48958f7b42e18a0004129f1f94d1aa455a03612eed6e8', 'fc56eae6c47ff3d48f30068636f63acc2d3f84795e55ad179bd6a780d1b94c6b', '{"asked_by":"","bound_per_hour":950.0,"ceiling_ratio":0.6,"created_at":"2026-03-01T12:00:00Z","database":"shop","expires_at":"2026-03-02T12:00:00Z","fingerprint":"cluster 1 database 5","forecast":null,"gap_ratio":0.05,"moves":[{"copy_seconds":2.0,"cost":null,"expected_bytes":null,"from_space":"slow","from_tier":"hdd","goes_back":false,"group":null,"key":"public.t5","limit_bytes":null,"ordinal":1,"payback_seconds":8.0,"reason":"promote","route":{"arguments":[],"bundle":{"container":"","homes":[],"key":"public.t5","kind":0,"physical_ids":[1],"size_bytes":67108864,"space":"slow","table_ids":[],"unit_keys":["public.t5"],"wide":""},"combines":false,"copies":[],"drains":0,"drains_users":0,"follow_up":[],"joins":"","keeps":[],"leaves":[],"lock_seconds":0.5,"locked":"briefly","locks":"ACCESS EXCLUSIVE on the table while it is copied","log_bytes":67108864,"name":"set tablespace","notes":[],"online":false,"patient_prologue":[],"prologue":["SET lock_timeout = ''500ms''"],"rewrites":"","steps":[{"operation":null,"pause_sql":"","purpose":"move public.t5","resume_sql":"","sql":"ALTER TABLE public.t5 SET TABLESPACE fast","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"tidy_bytes":0,"tidy_locks":"","tidy_steps":[],"to_space":"fast","transient_bytes":0,"undo_bytes":null,"undo_steps":[{"operation":null,"pause_sql":"","purpose":"move public.t5 back","resume_sql":"","sql":"ALTER TABLE public.t5 SET TABLESPACE slow","timeout_seconds":0.0,"undo_sql":"","variants":[]}],"unites":""},"sentence":"saves 900 s of read wait per hour","size_bytes":67108864,"to_space":"fast","to_tier":"ssd","undoes":null,"wait_saved_per_hour":900.0}],"purpose":"hsm","relief_per_hour":null,"saved_ratio_high":null,"saved_ratio_low":null,"wait_per_hour":1200.0,"wait_saved_high_per_hour":1000.0,"wait_saved_low_per_hour":700.0,"wait_saved_per_hour":900.0}', 'approved', 'within its limits', 1772366400000000, 1772452800000000, 1772366525000000, 'standing rule 1 of anna', 'level auto', 'c4cab44e12fd2893a8d48958f7b42e18a0004129f1f94d1aa455a03612eed6e8');
INSERT INTO hotplace.steps VALUES (1, 2, 1, 'ALTER TABLE public.t2 SET TABLESPACE fast', 'done', '', 1772366520000000, 1772366525000000);
INSERT INTO hotplace.unit_slots VALUES ('shop', 0, 'public.t1');
INSERT INTO hotplace.unit_slots VALUES ('shop', 1, 'public.t2');
INSERT INTO hotplace.work_other VALUES (1, 'shop', 1772366525000000, 60, '{"transactions": 5.0, "started_at": 1772366465000000}');
SELECT pg_catalog.setval('hotplace.asks_id_seq', 1, true);
SELECT pg_catalog.setval('hotplace.audit_head_id_seq', 1, true);
SELECT pg_catalog.setval('hotplace.audit_id_seq', 21, true);
SELECT pg_catalog.setval('hotplace.history_id_seq', 1, true);
SELECT pg_catalog.setval('hotplace.moves_id_seq', 5, true);
SELECT pg_catalog.setval('hotplace.outcomes_id_seq', 1, false);
SELECT pg_catalog.setval('hotplace.pins_id_seq', 1, true);
SELECT pg_catalog.setval('hotplace.proposals_id_seq', 4, true);
SELECT pg_catalog.setval('hotplace.statements_id_seq', 1, false);
SELECT pg_catalog.setval('hotplace.steps_id_seq', 1, true);
SELECT pg_catalog.setval('hotplace.work_id_seq', 1, true);
ALTER TABLE ONLY hotplace.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY hotplace.array_columns
    ADD CONSTRAINT array_columns_pkey PRIMARY KEY (database, name, "column");
ALTER TABLE ONLY hotplace.arrays
    ADD CONSTRAINT arrays_pkey PRIMARY KEY (database, name);
ALTER TABLE ONLY hotplace.asks
    ADD CONSTRAINT asks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY hotplace.audit_head
    ADD CONSTRAINT audit_head_pkey PRIMARY KEY (id);
ALTER TABLE ONLY hotplace.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY hotplace.closed_spaces
    ADD CONSTRAINT closed_spaces_pkey PRIMARY KEY (database, space);
ALTER TABLE ONLY hotplace.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (database, name);
ALTER TABLE ONLY hotplace.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (id, ended_at);
ALTER TABLE ONLY hotplace.history_2026_11_26
    ADD CONSTRAINT history_2026_11_26_pkey PRIMARY KEY (id, ended_at);
ALTER TABLE ONLY hotplace.history_2026_12_03
    ADD CONSTRAINT history_2026_12_03_pkey PRIMARY KEY (id, ended_at);
ALTER TABLE ONLY hotplace.history_2026_12_10
    ADD CONSTRAINT history_2026_12_10_pkey PRIMARY KEY (id, ended_at);
ALTER TABLE ONLY hotplace.history_other
    ADD CONSTRAINT history_other_pkey PRIMARY KEY (id, ended_at);
ALTER TABLE ONLY hotplace.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (database);
ALTER TABLE ONLY hotplace.moves
    ADD CONSTRAINT moves_pkey PRIMARY KEY (id);
ALTER TABLE ONLY hotplace.moves
    ADD CONSTRAINT moves_proposal_id_ordinal_key UNIQUE (proposal_id, ordinal);
ALTER TABLE ONLY hotplace.outcomes
    ADD CONSTRAINT outcomes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY hotplace.pins
    ADD CONSTRAINT pins_database_pattern_key UNIQUE (database, pattern);
ALTER TABLE ONLY hotplace.pins
    ADD CONSTRAINT pins_pkey PRIMARY KEY (id);
ALTER TABLE ONLY hotplace.placements
    ADD CONSTRAINT placements_pkey PRIMARY KEY (database, unit_key);
ALTER TABLE ONLY hotplace.proposals
    ADD CONSTRAINT proposals_pkey PRIMARY KEY (id);
ALTER TABLE ONLY hotplace.shared_columns
    ADD CONSTRAINT shared_columns_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY hotplace.statements
    ADD CONSTRAINT statements_pkey PRIMARY KEY (id);
ALTER TABLE ONLY hotplace.steps
    ADD CONSTRAINT steps_pkey PRIMARY KEY (id);
ALTER TABLE ONLY hotplace.unit_slots
    ADD CONSTRAINT unit_slots_pkey PRIMARY KEY (database, slot);
ALTER TABLE ONLY hotplace.work
    ADD CONSTRAINT work_pkey PRIMARY KEY (id, ended_at);
ALTER TABLE ONLY hotplace.work_2026_11_26
    ADD CONSTRAINT work_2026_11_26_pkey PRIMARY KEY (id, ended_at);
ALTER TABLE ONLY hotplace.work_2026_12_03
    ADD CONSTRAINT work_2026_12_03_pkey PRIMARY KEY (id, ended_at);
ALTER TABLE ONLY hotplace.work_2026_12_10
    ADD CONSTRAINT work_2026_12_10_pkey PRIMARY KEY (id, ended_at);
ALTER TABLE ONLY hotplace.work_other
    ADD CONSTRAINT work_other_pkey PRIMARY KEY (id, ended_at);
CREATE INDEX ix_history_database ON ONLY hotplace.history USING btree (database, ended_at);
CREATE INDEX history_2026_11_26_database_ended_at_idx ON hotplace.history_2026_11_26 USING btree (database, ended_at);
CREATE INDEX ix_history_resolution_seconds ON ONLY hotplace.history USING btree (resolution_seconds, ended_at);
CREATE INDEX history_2026_11_26_resolution_seconds_ended_at_idx ON hotplace.history_2026_11_26 USING btree (resolution_seconds, ended_at);
CREATE INDEX history_2026_12_03_database_ended_at_idx ON hotplace.history_2026_12_03 USING btree (database, ended_at);
CREATE INDEX history_2026_12_03_resolution_seconds_ended_at_idx ON hotplace.history_2026_12_03 USING btree (resolution_seconds, ended_at);
CREATE INDEX history_2026_12_10_database_ended_at_idx ON hotplace.history_2026_12_10 USING btree (database, ended_at);
CREATE INDEX history_2026_12_10_resolution_seconds_ended_at_idx ON hotplace.history_2026_12_10 USING btree (resolution_seconds, ended_at);
CREATE INDEX history_other_database_ended_at_idx ON hotplace.history_other USING btree (database, ended_at);
CREATE INDEX history_other_resolution_seconds_ended_at_idx ON hotplace.history_other USING btree (resolution_seconds, ended_at);
CREATE INDEX ix_array_columns_digest ON hotplace.array_columns USING btree (digest);
CREATE INDEX ix_asks_move_id ON hotplace.asks USING btree (move_id);
CREATE INDEX ix_audit_at ON hotplace.audit USING btree (at);
CREATE INDEX ix_audit_subject ON hotplace.audit USING btree (subject);
CREATE INDEX ix_moves_state ON hotplace.moves USING btree (state);
CREATE INDEX ix_moves_updated_at ON hotplace.moves USING btree (updated_at);
CREATE INDEX ix_outcomes_move_id ON hotplace.outcomes USING btree (move_id);
CREATE INDEX ix_proposals_created_at ON hotplace.proposals USING btree (created_at);
CREATE INDEX ix_proposals_database ON hotplace.proposals USING btree (database, state);
CREATE INDEX ix_statements_database ON hotplace.statements USING btree (database, ended_at);
CREATE INDEX ix_steps_ended_at ON hotplace.steps USING btree (ended_at);
CREATE INDEX ix_steps_move_id ON hotplace.steps USING btree (move_id);
CREATE INDEX ix_work_database ON ONLY hotplace.work USING btree (database, ended_at);
CREATE INDEX work_2026_11_26_database_ended_at_idx ON hotplace.work_2026_11_26 USING btree (database, ended_at);
CREATE INDEX work_2026_12_03_database_ended_at_idx ON hotplace.work_2026_12_03 USING btree (database, ended_at);
CREATE INDEX work_2026_12_10_database_ended_at_idx ON hotplace.work_2026_12_10 USING btree (database, ended_at);
CREATE INDEX work_other_database_ended_at_idx ON hotplace.work_other USING btree (database, ended_at);
ALTER INDEX hotplace.ix_history_database ATTACH PARTITION hotplace.history_2026_11_26_database_ended_at_idx;
ALTER INDEX hotplace.history_pkey ATTACH PARTITION hotplace.history_2026_11_26_pkey;
ALTER INDEX hotplace.ix_history_resolution_seconds ATTACH PARTITION hotplace.history_2026_11_26_resolution_seconds_ended_at_idx;
ALTER INDEX hotplace.ix_history_database ATTACH PARTITION hotplace.history_2026_12_03_database_ended_at_idx;
ALTER INDEX hotplace.history_pkey ATTACH PARTITION hotplace.history_2026_12_03_pkey;
ALTER INDEX hotplace.ix_history_resolution_seconds ATTACH PARTITION hotplace.history_2026_12_03_resolution_seconds_ended_at_idx;
ALTER INDEX hotplace.ix_history_database ATTACH PARTITION hotplace.history_2026_12_10_database_ended_at_idx;
ALTER INDEX hotplace.history_pkey ATTACH PARTITION hotplace.history_2026_12_10_pkey;
ALTER INDEX hotplace.ix_history_resolution_seconds ATTACH PARTITION hotplace.history_2026_12_10_resolution_seconds_ended_at_idx;
ALTER INDEX hotplace.ix_history_database ATTACH PARTITION hotplace.history_other_database_ended_at_idx;
ALTER INDEX hotplace.history_pkey ATTACH PARTITION hotplace.history_other_pkey;
ALTER INDEX hotplace.ix_history_resolution_seconds ATTACH PARTITION hotplace.history_other_resolution_seconds_ended_at_idx;
ALTER INDEX hotplace.ix_work_database ATTACH PARTITION hotplace.work_2026_11_26_database_ended_at_idx;
ALTER INDEX hotplace.work_pkey ATTACH PARTITION hotplace.work_2026_11_26_pkey;
ALTER INDEX hotplace.ix_work_database ATTACH PARTITION hotplace.work_2026_12_03_database_ended_at_idx;
ALTER INDEX hotplace.work_pkey ATTACH PARTITION hotplace.work_2026_12_03_pkey;
ALTER INDEX hotplace.ix_work_database ATTACH PARTITION hotplace.work_2026_12_10_database_ended_at_idx;
ALTER INDEX hotplace.work_pkey ATTACH PARTITION hotplace.work_2026_12_10_pkey;
ALTER INDEX hotplace.ix_work_database ATTACH PARTITION hotplace.work_other_database_ended_at_idx;
ALTER INDEX hotplace.work_pkey ATTACH PARTITION hotplace.work_other_pkey;
ALTER TABLE ONLY hotplace.asks
    ADD CONSTRAINT asks_move_id_fkey FOREIGN KEY (move_id) REFERENCES hotplace.moves(id);
ALTER TABLE ONLY hotplace.moves
    ADD CONSTRAINT moves_proposal_id_fkey FOREIGN KEY (proposal_id) REFERENCES hotplace.proposals(id);
ALTER TABLE ONLY hotplace.outcomes
    ADD CONSTRAINT outcomes_move_id_fkey FOREIGN KEY (move_id) REFERENCES hotplace.moves(id);
ALTER TABLE ONLY hotplace.steps
    ADD CONSTRAINT steps_move_id_fkey FOREIGN KEY (move_id) REFERENCES hotplace.moves(id);
ALTER TABLE hotplace.history_2026_11_26 ENABLE ROW LEVEL SECURITY;
ALTER TABLE hotplace.history_2026_12_03 ENABLE ROW LEVEL SECURITY;
ALTER TABLE hotplace.history_2026_12_10 ENABLE ROW LEVEL SECURITY;
ALTER TABLE hotplace.work_2026_11_26 ENABLE ROW LEVEL SECURITY;
ALTER TABLE hotplace.work_2026_12_03 ENABLE ROW LEVEL SECURITY;
ALTER TABLE hotplace.work_2026_12_10 ENABLE ROW LEVEL SECURITY;
