-- Divides a ledger on PostgreSQL among roles, so that the server refuses what only the program would refuse otherwise.
--
--   @schema@_owner     owns schema and tables; what logs in to migrate them after an upgrade is a member of it
--   @schema@_reader    reads what belongs to the databases of its teams
--   @schema@_approver  reads, and decides: approve, reject, strike, pause, cancel, pin, close
--   @schema@_agent     reads, proposes, carries out, and keeps what it has measured; it reads the whole audit chain
--
-- A team is a role too; table "teams" says which databases it owns ("*": all). A login is a member of one of the roles
-- above and of its team. Nobody may change or remove a row of the audit chain, a signature, a stored proposal or an
-- outcome, and the chain takes only the row that follows its last one.
--
-- Run by: a superuser, or an administrator who may create roles. Since: PostgreSQL 13. Run it again after each upgrade of
-- hotplace: it takes back all that was granted on the ledger before, and states the whole of it.

BEGIN;
SET LOCAL search_path = "@schema@", pg_catalog, pg_temp;

-- Roles and owner ----------------------------------------------------------------------------------------------------

DO $$
DECLARE
    each text;
BEGIN
    FOREACH each IN ARRAY ARRAY['@schema@_owner', '@schema@_reader', '@schema@_approver', '@schema@_agent'] LOOP
        IF to_regrole(each) IS NULL THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', each);
        END IF;
    END LOOP;
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT %I TO CURRENT_USER', '@schema@_owner');
    END IF;
    ALTER SCHEMA "@schema@" OWNER TO "@schema@_owner";
    FOR each IN SELECT relname FROM pg_class WHERE relnamespace = '@schema@'::regnamespace AND relkind IN ('r', 'p') LOOP
        EXECUTE format('ALTER TABLE %I OWNER TO %I', each, '@schema@_owner');
    END LOOP;
END $$;
GRANT "@schema@_reader" TO "@schema@_approver", "@schema@_agent";

-- Rows that were written before the head held their time.
UPDATE audit_head SET at = (SELECT max(a.at) FROM audit AS a
                             WHERE a.at <= (extract(epoch FROM clock_timestamp() + interval '1 day') * 1e6)::bigint)
 WHERE at IS NULL;

CREATE TABLE IF NOT EXISTS teams (team text NOT NULL, database text NOT NULL, PRIMARY KEY (team, database));
ALTER TABLE teams OWNER TO "@schema@_owner";

-- Everything granted before is taken back, and every policy ----------------------------------------------------------

DO $$
DECLARE
    each record;
BEGIN
    FOR each IN
        SELECT DISTINCT CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS name
          FROM (SELECT (aclexplode(relacl)).grantee, relowner FROM pg_class
                 WHERE relnamespace = '@schema@'::regnamespace
                 UNION ALL
                SELECT (aclexplode(attacl)).grantee, relowner FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
                 WHERE relnamespace = '@schema@'::regnamespace) AS granted
         WHERE grantee <> relowner
    LOOP
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA "@schema@" FROM %s', each.name);  -- their columns too
        EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA "@schema@" FROM %s', each.name);
    END LOOP;
    FOR each IN
        SELECT DISTINCT CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS name
          FROM pg_namespace, aclexplode(nspacl)
         WHERE nspname = '@schema@' AND grantee <> nspowner
    LOOP
        EXECUTE format('REVOKE ALL ON SCHEMA "@schema@" FROM %s', each.name);
    END LOOP;
    FOR each IN SELECT tablename, policyname FROM pg_policies WHERE schemaname = '@schema@' LOOP
        EXECUTE format('DROP POLICY %I ON %I', each.policyname, each.tablename);
    END LOOP;
END $$;

-- Functions. Each has a search path of its own: a caller's would let him put a table of his in the place of ours -------

CREATE OR REPLACE FUNCTION own_databases() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, "@schema@", pg_temp AS $$
    SELECT coalesce(array_agg(t.database), '{}')
      FROM teams AS t JOIN pg_roles AS r ON r.rolname = t.team
     WHERE pg_has_role(session_user, r.oid, 'MEMBER')
$$;

-- The database that a standing rule is for; the caller may not see the row that says so.
CREATE OR REPLACE FUNCTION database_of_rule(rule text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, "@schema@", pg_temp AS $$
    SELECT facts::jsonb #>> '{limits,database}' FROM audit
     WHERE subject = rule AND event = 'rule.proposed' ORDER BY id LIMIT 1
$$;

-- The databases that a signed list of approvals is about.
CREATE OR REPLACE FUNCTION databases_of_list(facts text) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    SELECT array_agg(DISTINCT member ->> 'database') FROM jsonb_array_elements(facts::jsonb -> 'members') AS member
$$;

-- Whether the chain holds a list that is about a database of the caller's.
CREATE OR REPLACE FUNCTION concerns_list(list text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, "@schema@", pg_temp AS $$
    SELECT EXISTS (SELECT FROM audit WHERE subject = list AND event IN ('list.signed', 'list.approved')
                      AND databases_of_list(facts) && own_databases())
$$;

-- Whether an audit row is about a database of the caller's; tables are asked as the caller, and so by his own policies.
CREATE OR REPLACE FUNCTION concerns(subject text, event text, facts text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, "@schema@", pg_temp AS $$
    SELECT '*' = ANY (own_databases()) OR CASE
        WHEN event IN ('ledger.created', 'ledger.migrated', 'ledger.moved') THEN true
        WHEN event = 'rule.proposed' THEN (facts::jsonb #>> '{limits,database}') = ANY (own_databases())
        WHEN event IN ('list.signed', 'list.approved') THEN databases_of_list(facts) && own_databases()
        WHEN subject ~ '^list [0-9a-f]{64}$' THEN concerns_list(subject)
        WHEN subject ~ '^rule [0-9]+$' THEN database_of_rule(subject) = ANY (own_databases())
        WHEN subject ~ '^proposal [0-9]{1,9}$' THEN
            EXISTS (SELECT FROM proposals AS p WHERE p.id = substr(subject, 10)::integer)
        WHEN subject ~ '^move [0-9]{1,9}$' THEN EXISTS (SELECT FROM moves AS m WHERE m.id = substr(subject, 6)::integer)
        WHEN subject ~ '^step [0-9]{1,9}$' THEN EXISTS (SELECT FROM steps AS s WHERE s.id = substr(subject, 6)::integer)
        WHEN subject ~ '^ask [0-9]{1,9}$' THEN EXISTS (SELECT FROM asks AS a WHERE a.id = substr(subject, 5)::integer)
        ELSE EXISTS (SELECT FROM unnest(own_databases()) AS d WHERE subject = d OR starts_with(subject, d || ' '))
    END
$$;

-- The form of every event, made from agent/ledger/chain/events.py.
CREATE OR REPLACE FUNCTION event_kinds() RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$ SELECT $events$@events@$events$::jsonb $$;

CREATE OR REPLACE FUNCTION is_instant(value text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN value::timestamptz BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'
       AND value ~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?([+-]\d\d:\d\d|Z)$';
EXCEPTION WHEN OTHERS THEN
    RETURN false;
END $$;

-- Whether a fact has its type: a name, or an array of the texts that are allowed.
CREATE OR REPLACE FUNCTION has_type(value jsonb, type jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, "@schema@" AS $$
DECLARE
    kind constant text := jsonb_typeof(value);
BEGIN
    IF jsonb_typeof(type) = 'array' THEN
        RETURN kind = 'string' AND type @> value;
    END IF;
    RETURN coalesce(CASE type #>> '{}'
        WHEN 'text' THEN kind = 'string'
        WHEN 'text or null' THEN kind IN ('string', 'null')
        WHEN 'number' THEN kind = 'number' AND abs(value::numeric) < 1e300
        WHEN 'flag' THEN kind = 'boolean'
        WHEN 'object' THEN kind = 'object'
        WHEN 'instant' THEN kind = 'string' AND is_instant(value #>> '{}')
        WHEN 'whole' THEN kind = 'number' AND value::text ~ '^-?[0-9]{1,16}$' AND abs(value::numeric) <= 2::numeric ^ 53
        WHEN 'conditions' THEN fits_kind(value, event_kinds() -> 'conditions of an approval')
        WHEN 'limits' THEN fits_kind(value, event_kinds() -> 'limits of a rule')
        WHEN 'wholes' THEN kind = 'array' AND all_have_type(value, '"whole"')
        WHEN 'texts' THEN kind = 'array' AND all_have_type(value, '"text"')
        WHEN 'members' THEN kind = 'array' AND all_have_type(value, '"member"')
        WHEN 'member' THEN fits_kind(value, event_kinds() -> 'member of a list')
    END, false);
END $$;

CREATE OR REPLACE FUNCTION all_have_type(list jsonb, type jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, "@schema@" AS $$
BEGIN
    RETURN NOT EXISTS (SELECT FROM jsonb_array_elements(list) AS each(value) WHERE NOT has_type(each.value, type));
END $$;

-- Whether facts have the form of a kind of event.
CREATE OR REPLACE FUNCTION fits_kind(facts jsonb, kind jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, "@schema@" AS $$
BEGIN
    RETURN jsonb_typeof(facts) = 'object' AND kind IS NOT NULL
       AND facts ?& ARRAY(SELECT jsonb_array_elements_text(kind -> 'required'))
       AND (kind -> 'one_of' = '[]' OR facts ?| ARRAY(SELECT jsonb_array_elements_text(kind -> 'one_of')))
       AND NOT EXISTS (
            SELECT FROM jsonb_each(facts) AS fact
             WHERE CASE WHEN kind -> 'types' ? fact.key THEN NOT has_type(fact.value, kind -> 'types' -> fact.key)
                        ELSE NOT (kind -> 'others')::boolean END);
END $$;

-- Whether a row of the chain has the form of its event. What does not is refused: readers of all teams would meet it.
CREATE OR REPLACE FUNCTION fits_event(event text, subject text, facts text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, "@schema@" AS $$
DECLARE
    kind constant jsonb := event_kinds() -> event;
BEGIN
    RETURN kind IS NOT NULL AND octet_length(facts) < 4000000
       AND (kind ->> 'subject' = '' OR subject ~ ('^' || (kind ->> 'subject') || ' [1-9][0-9]{0,8}$'))
       AND fits_kind(facts::jsonb, kind);
EXCEPTION WHEN invalid_text_representation OR untranslatable_character OR statement_too_complex THEN
    RETURN false;
END $$;

-- Whether the numbers in a row are those of what it is about; tables are asked as the caller.
CREATE OR REPLACE FUNCTION names_its_own(event text, subject text, facts text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, "@schema@", pg_temp AS $$
    SELECT CASE event
        WHEN 'moves.expired' THEN NOT EXISTS (
            SELECT FROM jsonb_array_elements_text(facts::jsonb -> 'moves') AS named
             WHERE NOT EXISTS (SELECT FROM moves AS m WHERE m.id = named::bigint
                                  AND m.proposal_id = substr(subject, 10)::integer))
        WHEN 'outcome.recorded' THEN EXISTS (
            SELECT FROM moves AS m WHERE m.id = substr(subject, 6)::integer
               AND m.proposal_id = (facts::jsonb ->> 'proposal')::bigint)
        WHEN 'step.intended' THEN EXISTS (
            SELECT FROM steps AS s WHERE s.id = substr(subject, 6)::integer
               AND s.move_id = (facts::jsonb ->> 'move')::bigint)
        WHEN 'proposal.approved' THEN NOT facts::jsonb ? 'rule'
            OR database_of_rule('rule ' || (facts::jsonb ->> 'rule'))
               = (SELECT p.database FROM proposals AS p WHERE p.id = substr(subject, 10)::integer)
        WHEN 'rule.proposed' THEN database_of_rule(subject) IS NULL
        ELSE true
    END
$$;

-- Whether a person's decision may be written so: not what agents alone decide, and of a size that all can read.
CREATE OR REPLACE FUNCTION is_decision(event text, facts text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, "@schema@" AS $$
    SELECT coalesce((event_kinds() -> event -> 'by_people')::boolean, false)
       AND octet_length(facts) < CASE WHEN event LIKE 'list.%' THEN 4000000 ELSE 200000 END
       AND NOT facts::jsonb ?| ARRAY(SELECT jsonb_array_elements_text(event_kinds() -> event -> 'agents_only'))
       AND (event <> 'move.cancelled' OR facts::jsonb ?& ARRAY['who', 'to'])
$$;

-- Whether the chain ends with this row.
CREATE OR REPLACE FUNCTION ends_chain(last_id integer, last_hash text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, "@schema@", pg_temp AS $$
    -- By max: whether any row is larger would be planned for any number, as a look at the whole chain.
    SELECT EXISTS (SELECT FROM audit WHERE id = last_id AND hash = last_hash)
       AND last_id = (SELECT max(id) FROM audit)
$$;

-- Takes a row into the chain only if it follows the last one and has the hash of its content.
CREATE OR REPLACE FUNCTION extend_chain() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, "@schema@", pg_temp AS $$
DECLARE
    head audit_head;
    content text;
    latest bigint;
BEGIN
    SELECT * INTO head FROM audit_head WHERE id = 1 FOR UPDATE;
    latest := greatest(head.at, (extract(epoch FROM clock_timestamp()) * 1e6)::bigint);
    content := concat('[', NEW.id, ',', NEW.at, ',', to_json(NEW.actor), ',', to_json(NEW.event), ',',
                      to_json(NEW.subject), ',', to_json(NEW.facts), ',', to_json(NEW.previous), ']');
    IF NEW.id <> coalesce(head.last_id, 0) + 1 OR NEW.previous <> coalesce(head.hash, repeat('0', 64)) THEN
        RAISE check_violation USING MESSAGE = format('audit row %s does not follow the last one', NEW.id);
    ELSIF NEW.hash <> encode(sha256(convert_to(content, 'UTF8')), 'hex') THEN
        RAISE check_violation USING MESSAGE = format('audit row %s does not have the hash of its content', NEW.id);
    ELSIF NEW.at < head.at OR NEW.at > latest THEN
        RAISE check_violation USING MESSAGE = format('audit row %s is dated before the last one, or ahead of the clock', NEW.id);
    ELSIF NOT fits_event(NEW.event, NEW.subject, NEW.facts) THEN
        RAISE check_violation USING MESSAGE = format('audit row %s does not have the form of its event', NEW.id);
    END IF;
    INSERT INTO audit_head (id, last_id, hash, at) VALUES (1, NEW.id, NEW.hash, NEW.at)
        ON CONFLICT (id) DO UPDATE SET last_id = excluded.last_id, hash = excluded.hash, at = excluded.at;
    RETURN NEW;
END $$;

-- Keeps the time of the head that of the row it names: what the next row is held against.
CREATE OR REPLACE FUNCTION keep_time_of_head() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, "@schema@", pg_temp AS $$
DECLARE
    of_row constant bigint := (SELECT a.at FROM audit AS a WHERE a.id = NEW.last_id);
BEGIN
    IF of_row IS NOT NULL THEN  -- the chain itself says it before its row is there
        NEW.at := greatest(of_row, CASE WHEN TG_OP = 'UPDATE' THEN OLD.at END);
    END IF;
    RETURN NEW;
END $$;

DROP TRIGGER IF EXISTS keep_time_of_head ON audit_head;
CREATE TRIGGER keep_time_of_head BEFORE INSERT OR UPDATE ON audit_head
    FOR EACH ROW EXECUTE FUNCTION keep_time_of_head();

DROP TRIGGER IF EXISTS extend_chain ON audit;
CREATE TRIGGER extend_chain BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION extend_chain();

-- A token only rises, and who takes a lease that another one holds waits until it has run out, by this server's clock.
CREATE OR REPLACE FUNCTION keep_lease() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, "@schema@", pg_temp AS $$
DECLARE
    left_seconds double precision := OLD.expires_at / 1e6 - extract(epoch FROM clock_timestamp());
    changes_hands boolean := NEW.session NOT IN (OLD.session, '');
BEGIN
    IF NEW.token < OLD.token OR (changes_hands AND NEW.token = OLD.token) THEN
        RAISE check_violation USING MESSAGE = format('the token of the lease of %s does not rise', OLD.database);
    ELSIF changes_hands AND OLD.session <> '' AND left_seconds > 0 AND left_seconds <= OLD.seconds THEN
        RAISE check_violation USING MESSAGE = format('the lease of %s is held by %s', OLD.database, OLD.holder);
    END IF;
    RETURN NEW;
END $$;

DROP TRIGGER IF EXISTS keep_lease ON leases;
CREATE TRIGGER keep_lease BEFORE UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION keep_lease();

DO $$
DECLARE
    each regprocedure;
BEGIN
    FOR each IN SELECT oid FROM pg_proc WHERE pronamespace = '@schema@'::regnamespace LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO %I', each, '@schema@_owner');
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', each);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', each,
                       CASE WHEN each::oid = to_regproc('keep_history')
                            THEN '@schema@_agent' ELSE '@schema@_reader' END);
    END LOOP;
END $$;

-- Rows: whose they are -----------------------------------------------------------------------------------------------

DO $$
DECLARE
    each text;
    own constant text := $own$
        '*' = ANY ((SELECT own_databases())::text[]) OR database = ANY ((SELECT own_databases())::text[])
    $own$;
BEGIN
    FOR each IN SELECT tablename FROM pg_tables
        WHERE schemaname = '@schema@' AND tablename NOT IN ('teams', 'alembic_version')
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', each);
    END LOOP;
    FOR each IN SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
        WHERE c.relnamespace = '@schema@'::regnamespace AND a.attname = 'database' AND c.relname <> 'teams'
          AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    LOOP
        EXECUTE format('CREATE POLICY of_own_databases ON %I TO "@schema@_reader" USING (%s)', each, own);
    END LOOP;
    CREATE POLICY of_own_proposals ON moves TO "@schema@_reader"
        USING (EXISTS (SELECT FROM proposals AS p WHERE p.id = proposal_id));
    FOREACH each IN ARRAY ARRAY['steps', 'outcomes', 'asks'] LOOP
        EXECUTE format('CREATE POLICY of_own_moves ON %I TO "@schema@_reader" '
                       'USING (EXISTS (SELECT FROM moves AS m WHERE m.id = move_id))', each);
    END LOOP;
END $$;

-- What agents note of themselves and of no database: when history was folded, how far each has handed over its samples.
CREATE POLICY of_no_database ON documents TO "@schema@_agent" USING (database = '') WITH CHECK (database = '');

-- Columns of several sets have no database. An agent looks at all sets before it drops one that none has any more.
CREATE POLICY of_all_sets ON array_columns FOR SELECT TO "@schema@_agent" USING (true);
CREATE POLICY of_own_sets ON shared_columns FOR SELECT TO "@schema@_reader"
    USING (EXISTS (SELECT FROM array_columns AS a WHERE a.digest = shared_columns.digest));
CREATE POLICY of_agents ON shared_columns FOR SELECT TO "@schema@_agent" USING (true);
CREATE POLICY new_ones ON shared_columns FOR INSERT TO "@schema@_agent" WITH CHECK (true);
CREATE POLICY unused_ones ON shared_columns FOR DELETE TO "@schema@_agent"
    USING (NOT EXISTS (SELECT FROM array_columns AS a WHERE a.digest = shared_columns.digest));

-- The chain: an agent checks all of its links, so it reads all rows.
CREATE POLICY of_own_databases ON audit FOR SELECT TO "@schema@_reader" USING (concerns(subject, event, facts));
CREATE POLICY whole_chain ON audit FOR SELECT TO "@schema@_agent" USING (true);
CREATE POLICY acts ON audit FOR INSERT TO "@schema@_agent" WITH CHECK (concerns(subject, event, facts));
CREATE POLICY decisions ON audit FOR INSERT TO "@schema@_approver"
    WITH CHECK (is_decision(event, facts) AND concerns(subject, event, facts));
CREATE POLICY own_numbers ON audit AS RESTRICTIVE FOR INSERT TO "@schema@_approver", "@schema@_agent"
    WITH CHECK (names_its_own(event, subject, facts));
-- Who signs or approves a list does so for all of its databases.
CREATE POLICY whole_lists ON audit AS RESTRICTIVE FOR INSERT TO "@schema@_approver", "@schema@_agent"
    WITH CHECK (event NOT IN ('list.signed', 'list.approved') OR '*' = ANY (own_databases())
                OR databases_of_list(facts) <@ own_databases());
CREATE POLICY where_it_ends ON audit_head FOR SELECT TO "@schema@_reader" USING (true);
CREATE POLICY first_end ON audit_head FOR INSERT TO "@schema@_approver", "@schema@_agent"
    WITH CHECK (id = 1 AND ends_chain(last_id, hash));
CREATE POLICY next_end ON audit_head FOR UPDATE TO "@schema@_approver", "@schema@_agent"
    USING (true) WITH CHECK (id = 1 AND ends_chain(last_id, hash));

-- What has ended stays as it is, and a person who decides begins no move.
CREATE POLICY only_results ON steps AS RESTRICTIVE FOR UPDATE TO "@schema@_agent"
    USING (state = 'intended') WITH CHECK (true);
CREATE POLICY only_decisions ON proposals AS RESTRICTIVE FOR UPDATE TO "@schema@_approver"
    USING (state IN ('proposed', 'approved'))
    WITH CHECK (state IN ('approved', 'rejected', 'expired', 'finished')
                AND octet_length(concat(reason, decided_by, decided_from)) < 10000);
CREATE POLICY only_decisions ON moves AS RESTRICTIVE FOR UPDATE TO "@schema@_approver"
    USING (state IN ('proposed', 'approved'))
    WITH CHECK (state IN ('approved', 'rejected', 'cancelled', 'skipped', 'expired') AND octet_length(reason) < 10000);
CREATE POLICY short_texts ON asks AS RESTRICTIVE FOR INSERT TO "@schema@_approver"
    WITH CHECK (octet_length(concat(kind, who, origin, reason, answer)) < 10000);
CREATE POLICY short_texts ON pins AS RESTRICTIVE FOR INSERT TO "@schema@_approver"
    WITH CHECK (octet_length(concat(pattern, who, reason)) < 10000);
CREATE POLICY short_texts ON closed_spaces AS RESTRICTIVE FOR INSERT TO "@schema@_approver"
    WITH CHECK (octet_length(concat(space, who, reason)) < 10000);

-- Tables: what may be done with them ---------------------------------------------------------------------------------

GRANT USAGE ON SCHEMA "@schema@" TO "@schema@_reader";
GRANT SELECT ON ALL TABLES IN SCHEMA "@schema@" TO "@schema@_reader";
REVOKE SELECT ON teams FROM "@schema@_reader";
-- Partitions are reached by their table alone, whose policies hold; those that keep_history makes are granted to none.
DO $$
DECLARE
    each regclass;
BEGIN
    FOR each IN SELECT oid FROM pg_class
                 WHERE relnamespace = '@schema@'::regnamespace AND relispartition AND relkind = 'r' LOOP
        EXECUTE format('REVOKE ALL ON TABLE %s FROM %I', each, '@schema@_reader');
    END LOOP;
END $$;

GRANT INSERT ON audit, asks, pins, closed_spaces TO "@schema@_approver", "@schema@_agent";
GRANT DELETE ON pins, closed_spaces TO "@schema@_approver", "@schema@_agent";
-- On the whole table, as its lock asks for; what may be written to it is said by its policies.
GRANT INSERT, UPDATE ON audit_head TO "@schema@_approver", "@schema@_agent";
GRANT UPDATE (state, reason, decided_at, decided_by, decided_from, approved_digest) ON proposals
    TO "@schema@_approver", "@schema@_agent";
GRANT UPDATE (state, reason, updated_at) ON moves TO "@schema@_approver", "@schema@_agent";
GRANT USAGE ON SEQUENCE asks_id_seq, pins_id_seq TO "@schema@_approver", "@schema@_agent";

GRANT INSERT ON proposals, moves, steps, outcomes, placements TO "@schema@_agent";
GRANT UPDATE (attempts) ON moves TO "@schema@_agent";
GRANT UPDATE (state, detail, ended_at) ON steps TO "@schema@_agent";
GRANT UPDATE (answer) ON asks TO "@schema@_agent";
GRANT UPDATE (placed_at) ON placements TO "@schema@_agent";
GRANT INSERT, UPDATE, DELETE ON arrays, documents TO "@schema@_agent";
GRANT INSERT, DELETE ON array_columns, shared_columns, history, work, statements TO "@schema@_agent";
GRANT INSERT, UPDATE (token, holder, session, seconds, expires_at) ON leases TO "@schema@_agent";
GRANT INSERT ON unit_slots TO "@schema@_agent";
GRANT USAGE ON ALL SEQUENCES IN SCHEMA "@schema@" TO "@schema@_agent";

COMMIT;
