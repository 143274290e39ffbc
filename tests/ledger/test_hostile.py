"""Who has a role's password and writes raw SQL: the server refuses it, or the agent sends nothing because of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from agent.ledger.errors import LedgerBusy, LedgerReadOnly, Untrusted
from agent.ledger.ledger import Ledger
from agent.model.proposals import proposal_from_text, proposal_text
from agent.model.states import MoveState, ProposalState
from agent.service.watch import Watch
from policies.model.settings import Pin
from tests.keys import Person
from tests.ledger.conftest import ON_SERVER
from tests.ledger.divided import (
    ROLES,
    SECRET,
    DividedLedger,
    chain_row,
    divided_ledger,
    read_all,
    tables,
    user_of,
    watched_site,
)
from tests.ledger.servers import LedgerServers
from tests.simulation.site import Site

pytestmark = ON_SERVER

OURS, THEIRS = 2, 1  # proposals of sales, which the agent watches, and of hr
REFUSED = (psycopg.errors.InsufficientPrivilege, psycopg.errors.CheckViolation)
AT_ONCE_REFUSED = """
UPDATE audit SET facts = '{}'
DELETE FROM audit
TRUNCATE audit
TRUNCATE proposals CASCADE
UPDATE proposals SET body = '', digest = ''
UPDATE proposals SET database = 'sim'
DELETE FROM proposals
UPDATE moves SET proposal_id = 1
DELETE FROM moves
UPDATE steps SET sql = ''
DELETE FROM steps
UPDATE outcomes SET body = ''
DELETE FROM outcomes
DELETE FROM audit_head
TRUNCATE audit_head
DELETE FROM unit_slots
DELETE FROM leases
UPDATE leases SET database = 'sim'
TRUNCATE leases
UPDATE alembic_version SET version_num = 'v9999'
SELECT * FROM teams
INSERT INTO teams VALUES ('sales', '*')
DELETE FROM teams
SET row_security = off; SELECT * FROM proposals
DROP TABLE audit CASCADE
DROP SCHEMA hotplace CASCADE
DROP TRIGGER extend_chain ON audit
DROP POLICY decisions ON audit
DROP FUNCTION own_databases() CASCADE
ALTER TABLE audit DISABLE TRIGGER extend_chain
ALTER TABLE audit DISABLE ROW LEVEL SECURITY
ALTER TABLE audit OWNER TO CURRENT_USER
ALTER FUNCTION own_databases() SECURITY INVOKER
ALTER SCHEMA hotplace RENAME TO another
CREATE POLICY all_rows ON proposals USING (true)
CREATE TABLE hotplace.audit_copy (id int)
CREATE VIEW hotplace.proposal_view AS SELECT 1
CREATE FUNCTION hotplace.hashtext(name) RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE OR REPLACE FUNCTION own_databases() RETURNS text[] LANGUAGE sql AS 'SELECT ARRAY[''*'']'
CREATE RULE never AS ON INSERT TO audit DO INSTEAD NOTHING
SET ROLE hotplace_owner
SET ROLE hr
SET ROLE hr_agent
SET ROLE postgres
SET SESSION AUTHORIZATION hr_agent
SET session_replication_role = replica
GRANT hotplace_owner TO CURRENT_USER
GRANT hr TO CURRENT_USER
GRANT SELECT ON teams TO PUBLIC
ALTER ROLE CURRENT_USER SUPERUSER
ALTER ROLE hr_agent SET search_path = public
ALTER DATABASE "{dbname}" SET search_path = public
SELECT pg_reload_conf()
COPY audit_head TO PROGRAM 'id'
SELECT pg_read_file('/etc/passwd')
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'
LOCK TABLE audit IN ACCESS EXCLUSIVE MODE
SELECT setval('audit_id_seq', 1)
SELECT setval('proposals_id_seq', 1)
"""
TRAP = """
CREATE TABLE public.trapped (who text);
GRANT INSERT ON public.trapped TO PUBLIC;
CREATE FUNCTION public.trap() RETURNS name LANGUAGE sql AS
    'INSERT INTO public.trapped VALUES (current_user) RETURNING who::name';
CREATE FUNCTION public.hashtext(name) RETURNS int LANGUAGE sql AS 'SELECT public.trap(); SELECT 1';
CREATE FUNCTION public.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS 'SELECT public.trap(); SELECT $2';
CREATE FUNCTION public.to_json(text) RETURNS json LANGUAGE sql AS 'SELECT public.trap(); SELECT NULL::json';
CREATE FUNCTION public.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT public.trap(); SELECT true';
CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.same);
CREATE VIEW public.proposals AS SELECT public.trap();
CREATE TABLE public.audit_head (id int, last_id int, hash text);
"""


@dataclass(slots=True)
class Attacked:
    """A divided ledger, and the agent of sales that works on it."""

    divided: DividedLedger
    site: Site
    watch: Watch
    ledger: Ledger

    def sends_nothing(self) -> bool:
        """Whether the agent, asked to act, leaves every unit where it is; it may say that it does not trust."""
        before = self.site.homes()
        with suppress(Untrusted, LedgerBusy):
            assert self.watch.act() == ()
        steps = [step for move in self.ledger.moves.rows() for step in self.ledger.moves.steps(move.id)]
        return self.site.homes() == before and steps == []


@pytest.fixture(scope="module")
def anna(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """She may sign."""
    return Person.new(tmp_path_factory.mktemp("anna"), "anna")


@pytest.fixture(scope="module")
def prepared(
    servers: LedgerServers, tmp_path_factory: pytest.TempPathFactory, anna: Person
) -> Iterator[tuple[DividedLedger, Site]]:
    """The ledger with a proposal of each team, and the site that is watched."""
    with divided_ledger(servers, tmp_path_factory.mktemp("site"), anna) as divided:
        yield divided, watched_site(divided)


@pytest.fixture
def attacked(prepared: tuple[DividedLedger, Site], servers: LedgerServers, tmp_path: Path) -> Iterator[Attacked]:
    """A copy of it for one test, with its agent."""
    before, site_before = prepared
    with servers.database(before.dbname) as place:
        divided = replace(before, dbname=place.dbname, folder=tmp_path / "site")
        site = site_before.copy(divided.folder)
        site.ledger = divided.config("sales_agent")
        with site.agent() as (watch, ledger):
            site.observe(watch, 1)
            yield Attacked(divided, site, watch, ledger)


def approved_in_tables(session: psycopg.Connection) -> None:
    """What approving writes, but for the chain."""
    who = "decided_by = 'anna', decided_from = 'tty', approved_digest = digest"
    session.execute(f"UPDATE proposals SET state = 'approved', {who} WHERE id = {OURS}".encode())
    session.execute(f"UPDATE moves SET state = 'approved' WHERE proposal_id = {OURS}".encode())


def approval(session: psycopg.Connection, number: int = OURS) -> str:
    """The facts of an approval that fits a proposal."""
    found = session.execute("SELECT digest FROM proposals WHERE id = %s", [number]).fetchone()
    ordinals = session.execute("SELECT ordinal FROM moves WHERE proposal_id = %s", [number]).fetchall()
    facts = {
        "who": "anna",
        "origin": "tty",
        "reason": "",
        "digest": found and found[0],
        "moves": [n for (n,) in ordinals],
    }
    return json.dumps(facts, sort_keys=True)


def test_people_and_agent_do_their_work(attacked: Attacked, anna: Person) -> None:
    """With the role of each: read, sign, pin, close, pause, strike, reject; what is signed is moved, and recorded."""
    divided, clock = attacked.divided, attacked.site.clock
    with divided.ledger("sales_approver", clock) as ledger:
        assert [row.id for row in ledger.proposals.rows()] == [OURS]
        ledger.pins.pin("sim", "x.*", Pin.NEVER, who="anna", reason="")
        ledger.arrivals.close("sim", "ssd2", who="anna", reason="")
        document = ledger.proposals.document(OURS)[0]
        row = ledger.proposals.approve(
            OURS, who="root", origin="tty", digest=document.digest, signature=anna.sign(document.text)
        )
        assert row.state is ProposalState.APPROVED
        moves = ledger.moves.rows(proposal_id=OURS)
        if len(moves) > 1:
            ledger.proposals.strike(OURS, moves[-1].move.ordinal, who="anna", origin="tty", reason="")
        ledger.pins.unpin("sim", "x.*", who="anna")
        ledger.arrivals.open("sim", "ssd2", who="anna", reason="")
    with divided.ledger("hr_approver", clock) as ledger:
        ledger.proposals.reject(THEIRS, who="hans", origin="tty", reason="no")
    before = attacked.site.homes()
    assert MoveState.PLACED in {each.state for each in attacked.watch.act()}
    assert attacked.site.homes() != before
    attacked.site.observe(attacked.watch, 20)
    attacked.watch.verify()
    assert attacked.ledger.audit.verify().ok
    with divided.ledger("sales_reader", clock) as ledger:
        assert {row.database for row in ledger.moves.rows()} == {"sim"}
        with pytest.raises(LedgerReadOnly):
            ledger.pins.pin("sim", "x.*", Pin.NEVER, who="anna", reason="")


@pytest.mark.parametrize("role", ROLES)
def test_history_schema_and_rights_stay_as_they_are(attacked: Attacked, role: str) -> None:
    """Each statement is refused by the server, whichever role's password it is, and nothing is lost or changed."""
    divided = attacked.divided
    with divided.session() as dba, divided.session(user_of("sales", role)) as hostile:
        before = {table: read_all(dba, table) for table in tables(dba)}
        for statement in AT_ONCE_REFUSED.strip().splitlines():
            with pytest.raises(psycopg.errors.InsufficientPrivilege), hostile.transaction():
                hostile.execute(statement.replace("{dbname}", divided.dbname).encode())
        assert {table: read_all(dba, table) for table in tables(dba)} == before
    assert attacked.sends_nothing()


def test_a_reader_writes_nothing(attacked: Attacked) -> None:
    """No table takes a row from it, and it cannot keep deciders from the chain."""
    with attacked.divided.session("sales_reader") as hostile:
        for table in tables(hostile):
            for statement in (f"INSERT INTO {table} SELECT * FROM {table}", f"DELETE FROM {table}"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    hostile.execute(statement.encode())
        for statement in ("UPDATE proposals SET state = 'approved'", "LOCK TABLE audit_head IN SHARE MODE"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), hostile.transaction():
                hostile.execute(statement.encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            chain_row(hostile, "proposal.approved", f"proposal {OURS}", approval(hostile))
    assert attacked.sends_nothing()


@pytest.mark.parametrize("role", ROLES)
def test_what_belongs_to_another_team_is_not_read(attacked: Attacked, role: str) -> None:
    """Neither its statements nor its documents, by no table and no trick; but an agent reads the chain."""
    with attacked.divided.session("postgres") as dba, attacked.divided.session(user_of("sales", role)) as hostile:
        found = {table for table in tables(dba) if SECRET in read_all(dba, table)}
        assert {"proposals", "documents"} <= found
        readable = [table for table in tables(dba) if table != "teams"]
        assert [table for table in readable if SECRET in read_all(hostile, table)] == []
        if role != "agent":
            assert f"proposal {THEIRS}" not in read_all(hostile, "audit")
        heard: list[str] = []
        hostile.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
        hostile.execute("""CREATE FUNCTION pg_temp.peek(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001
            AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$""")
        hostile.execute("SELECT 1 FROM proposals WHERE pg_temp.peek(body)")
        hostile.execute("SELECT 1 FROM audit WHERE pg_temp.peek(facts)")
        assert heard
        assert [text for text in heard if SECRET in text] == []
        hostile.execute("CREATE TEMP TABLE teams AS SELECT 'sales' AS team, '*' AS database")
        hostile.execute("SET search_path = pg_temp, hotplace, public")
        assert hostile.execute("SELECT hotplace.own_databases()").fetchone() == (["sim"],)
        assert hostile.execute("SELECT count(*) FROM hotplace.proposals WHERE database <> 'sim'").fetchone() == (0,)


@pytest.mark.parametrize("role", ["approver", "agent"])
def test_nothing_is_decided_for_another_team(attacked: Attacked, role: str) -> None:
    """Its rows are not there to be changed, and the chain takes no row about them."""
    with attacked.divided.session() as dba, attacked.divided.session(user_of("sales", role)) as hostile:
        before = read_all(dba, "proposals"), read_all(dba, "moves"), read_all(dba, "audit")
        assert hostile.execute("UPDATE proposals SET state = 'approved' WHERE database = 'pay'").rowcount == 0
        assert (
            hostile.execute(f"UPDATE moves SET state = 'approved' WHERE proposal_id = {THEIRS}".encode()).rowcount == 0
        )
        facts = approval(dba, THEIRS)
        for event, subject in (
            ("proposal.approved", f"proposal {THEIRS}"), ("move.cancelled", "move 1"), ("pin.set", "pay x"),
            ("rule.closed", "rule 1"), ("moves.expired", f"proposal {THEIRS}"),
        ):  # fmt: skip
            with pytest.raises(REFUSED):
                chain_row(hostile, event, subject, facts)
        for statement in (
            "INSERT INTO pins (database, pattern, pin, who, reason, created_at) VALUES ('pay', '*', 0, 'x', '', 0)",
            "INSERT INTO closed_spaces VALUES ('pay', 'fast', 'x', '', 0)",
            "INSERT INTO asks (move_id, kind, who, origin, reason, at, answer) VALUES (1, 'stop', '', '', '', 0, '')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                hostile.execute(statement.encode())
        assert (read_all(dba, "proposals"), read_all(dba, "moves"), read_all(dba, "audit")) == before


def test_leases_and_tokens_are_the_agents_own(attacked: Attacked) -> None:
    """Others write none; an agent writes those of its own team, whose tokens only rise and whose holders stay."""
    attacked.ledger.leases.take("sim")
    with attacked.divided.session() as dba:
        before = read_all(dba, "leases")
        for role in ("reader", "approver"):
            with attacked.divided.session(user_of("sales", role)) as hostile:
                for statement in ("UPDATE leases SET token = 9", "INSERT INTO leases SELECT * FROM leases"):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        hostile.execute(statement.encode())
        with attacked.divided.session("hr_agent") as hostile:
            assert hostile.execute("UPDATE leases SET token = 9, session = 'x'").rowcount == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                hostile.execute("INSERT INTO leases VALUES ('sim', 9, 'x', 'x', 1, 1)")
        with attacked.divided.session("sales_agent") as hostile:
            for change in ("token = token - 1", "session = 'x'", "token = token + 1, session = 'x'"):
                with pytest.raises(psycopg.errors.CheckViolation):
                    hostile.execute(f"UPDATE leases SET {change}".encode())
        assert read_all(dba, "leases") == before
    attacked.ledger.leases.renew("sim")


@pytest.mark.parametrize("role", ["approver", "agent"])
def test_the_chain_takes_only_the_row_that_follows(attacked: Attacked, role: str) -> None:
    """No gap, no second end, no other hash; its head cannot be set to anything else."""
    with attacked.divided.session(user_of("sales", role)) as hostile:
        facts = approval(hostile)
        (last,) = hostile.execute("SELECT last_id FROM audit_head").fetchone() or (0,)
        for changes in ({"id": last + 5}, {"id": last}, {"previous": "0" * 64}, {"hash": "f" * 64}):
            with pytest.raises(REFUSED):
                chain_row(hostile, "proposal.approved", f"proposal {OURS}", facts, **changes)
        for statement in (
            "UPDATE audit_head SET last_id = 1", f"UPDATE audit_head SET hash = '{'0' * 64}'",
            "INSERT INTO audit_head VALUES (2, 1, '')",
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                hostile.execute(statement.encode())
    assert attacked.ledger.audit.verify().ok


def test_a_list_is_signed_for_all_of_its_databases(attacked: Attacked, anna: Person) -> None:
    """By whoever may decide about each of them: the approver of one team signs and stops its own, and no other."""
    member = {
        "wave": 1, "database": "pay", "fingerprint": "f", "proposal": THEIRS, "digest": "d", "moves": [1],
        "conditions": "{}", "expires": "2026-01-01T00:00:00+00:00", "sequence": 1,
    }  # fmt: skip
    facts = {"who": "x", "origin": "o", "members": [{**member, "database": "sim"}, member]}
    forms = {"list.signed": {"key": "k", "signature": "s"}, "list.approved": {"reason": ""}}
    with attacked.divided.session("sales_approver") as hostile:
        for event, more in forms.items():
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                chain_row(hostile, event, f"list {'a' * 64}", json.dumps(facts | more))
        stopped = {"who": "x", "origin": "o", "reason": "", "moves": []}
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            chain_row(hostile, "list.stopped", f"list {'a' * 64}", json.dumps(stopped))
    with attacked.divided.ledger("sales_approver", attacked.site.clock) as ledger:
        listed, _ = ledger.lists.document([OURS])
        signature = anna.sign(listed.text)
        ledger.lists.approve([OURS], who="x", origin="tty", digest=listed.digest, signature=signature)
    before = attacked.site.homes()
    attacked.watch.act()
    assert attacked.site.homes() != before


def test_an_approver_writes_decisions_only(attacked: Attacked) -> None:
    """No move or statement begins or ends by its hand, no rule is proposed, and what it writes has the right form."""
    good = {"who": "x", "digest": "d", "moves": [1], "key": "k", "sequence": 1, "signature": "s", "origin": "o"}
    with attacked.divided.session("sales_approver") as hostile:
        move = hostile.execute(f"SELECT id FROM moves WHERE proposal_id = {OURS}".encode()).fetchone()
        assert move is not None
        for event, facts in (
            ("proposal.stored", good), ("move.running", good), ("step.intended", good), ("outcome.recorded", good),
            ("rule.proposed", good), ("ledger.created", good), ("proposal.approved", {**good, "rule": 1}),
            ("proposal.approved", {**good, "moves": "all"}), ("proposal.approved", {}), ("proposal.signed", {}),
            ("moves.expired", {}), ("move.struck", {"to": "placed"}), ("proposal.rejected", {"moves": 1}),
            ("proposal.signed", {**good, "signature": "s" * 300_000}),
        ):  # fmt: skip
            kind = "move" if event.startswith("move.") else "proposal"
            with pytest.raises(REFUSED):
                chain_row(hostile, event, f"{kind} {move[0] if kind == 'move' else OURS}", json.dumps(facts))
        with pytest.raises(psycopg.errors.CheckViolation):
            chain_row(hostile, "proposal.approved", f"proposal {OURS}", "no JSON")
        for statement in (
            "UPDATE moves SET state = 'running'", "UPDATE moves SET attempts = 1",
            "UPDATE proposals SET reason = repeat('x', 1000000)",
            "INSERT INTO steps (move_id, ordinal, sql, state, detail, intended_at) VALUES (2, 0, 'x', 'done', '', 0)",
            "INSERT INTO proposals SELECT * FROM proposals", "UPDATE asks SET answer = 'x'",
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                hostile.execute(statement.encode())
    assert attacked.sends_nothing()


def test_an_approval_forged_in_the_tables_sends_nothing(attacked: Attacked) -> None:
    """The approver's password is enough to write it, and not enough for the agent."""
    with attacked.divided.session("sales_approver") as hostile:
        approved_in_tables(hostile)
    assert attacked.sends_nothing()
    assert "does not hold that proposal 2 was approved" in attacked.watch.snapshot.untrusted


@pytest.mark.parametrize("signed", [False, True])
def test_an_approval_forged_in_tables_and_chain_sends_nothing(attacked: Attacked, signed: bool) -> None:
    """All that hotplace itself would write, in the right order: the agent misses a signature by an allowed key."""
    with attacked.divided.session("sales_approver") as hostile:
        stranger = Person.new(attacked.divided.folder, "anna")
        text = attacked.ledger.proposals.document(OURS)[0]
        facts = {
            "who": "anna", "origin": "tty", "key": "SHA256:x", "digest": text.digest, "moves": list(text.moves),
            "sequence": text.sequence, "signature": stranger.sign(text.text),
        }  # fmt: skip
        if signed:
            chain_row(hostile, "proposal.signed", f"proposal {OURS}", json.dumps(facts, sort_keys=True))
        approved_in_tables(hostile)
        chain_row(hostile, "proposal.approved", f"proposal {OURS}", approval(hostile))
    assert attacked.ledger.audit.verify().ok
    assert attacked.sends_nothing()
    assert "0 of the 1 signatures" in attacked.watch.snapshot.untrusted


def test_statements_of_ones_own_are_sent_by_no_signature(attacked: Attacked, anna: Person) -> None:
    """The agent's password stores a proposal; a signature that was given for another one does not fit it."""
    document = attacked.ledger.proposals.document(OURS)[0]
    signature = anna.sign(document.text)
    with attacked.divided.session("sales_agent") as hostile:
        body = hostile.execute(f"SELECT body FROM proposals WHERE id = {OURS}".encode()).fetchone()
        assert body is not None
        wanted = proposal_from_text(body[0])
        step = replace(wanted.moves[0].route.steps[0], sql="DROP TABLE orders")
        route = replace(wanted.moves[0].route, steps=(step,))
        forged = replace(wanted, moves=(replace(wanted.moves[0], route=route),))
        columns = "database, fingerprint, digest, same_work, body, state, reason, created_at, expires_at, decided_by"
        (number,) = hostile.execute(
            f"INSERT INTO proposals ({columns}, decided_from, approved_digest) SELECT database, fingerprint, "
            f"%s, '', %s, 'approved', '', created_at, expires_at, 'anna', 'tty', %s FROM proposals WHERE id = {OURS} "
            "RETURNING id".encode(), [forged.digest, proposal_text(forged), forged.digest],
        ).fetchone() or (0,)  # fmt: skip
        hostile.execute(
            "INSERT INTO moves (proposal_id, ordinal, state, reason, attempts, updated_at) "
            "VALUES (%s, %s, 'approved', '', 0, 0)", [number, forged.moves[0].ordinal],
        )  # fmt: skip
        stored = {"database": "sim", "digest": forged.digest, "moves": 1}
        signed = {
            "who": "anna", "origin": "tty", "key": "SHA256:x", "digest": forged.digest, "moves": list(document.moves),
            "sequence": document.sequence, "signature": signature,
        }  # fmt: skip
        chain_row(hostile, "proposal.stored", f"proposal {number}", json.dumps(stored))
        chain_row(hostile, "proposal.signed", f"proposal {number}", json.dumps(signed))
        chain_row(hostile, "proposal.approved", f"proposal {number}", approval(hostile, number))
    assert attacked.sends_nothing()
    assert "0 of the 1 signatures" in attacked.watch.snapshot.untrusted


@pytest.mark.parametrize("role", ROLES)
def test_nothing_that_others_make_runs_as_the_agent(attacked: Attacked, anna: Person, role: str) -> None:
    """Functions, operators, tables and views of the same names in other schemas are never found; no trigger is made."""
    divided = attacked.divided
    with divided.session(user_of("sales", role)) as hostile, divided.session() as dba:
        hostile.execute(TRAP.encode())
        hostile.execute(
            "CREATE FUNCTION public.by_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            hostile.execute("CREATE TRIGGER t BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION public.by_trigger()")
        document = attacked.ledger.proposals.document(OURS)[0]
        signature = anna.sign(document.text)
        attacked.ledger.proposals.approve(OURS, who="x", origin="tty", digest=document.digest, signature=signature)
        attacked.site.observe(attacked.watch, 1)
        assert MoveState.PLACED in {each.state for each in attacked.watch.act()}
        assert dba.execute("SELECT who FROM public.trapped").fetchall() == []
        dba.execute("SET search_path = public, hotplace; SELECT public.trap()")
        assert dba.execute("SELECT who FROM public.trapped").fetchall() == [("postgres",)]  # the trap works


def test_a_flood_stops_at_its_limits(attacked: Attacked) -> None:
    """Sessions beyond the login's limit are refused; a thousand rows in the chain and a lock held send nothing."""
    divided = attacked.divided
    with divided.session() as dba, ExitStack() as sessions:
        dba.execute("ALTER ROLE sales_approver CONNECTION LIMIT 3")
        try:
            hostile = [sessions.enter_context(divided.session("sales_approver")) for _ in range(3)]
            with pytest.raises(psycopg.OperationalError, match="too many connections"):
                sessions.enter_context(divided.session("sales_approver"))
            with hostile[0].transaction():
                for _ in range(200):
                    chain_row(hostile[0], "proposal.expired", f"proposal {OURS}", '{"reason": ""}')
            assert "the proposal is expired" in attacked.ledger.audit.verify().sentence
            assert attacked.sends_nothing()
            with hostile[1].transaction():
                hostile[1].execute("LOCK TABLE audit_head IN SHARE ROW EXCLUSIVE MODE")
                assert attacked.sends_nothing()
                with pytest.raises(LedgerBusy):
                    attacked.ledger.audit.record("trace.on", "sim", who="x", generation=1)
            attacked.ledger.audit.record("trace.on", "sim", who="x", generation=1)
        finally:
            dba.execute("ALTER ROLE sales_approver CONNECTION LIMIT -1")
