"""Ledgers of every revision, as that version wrote them: opened today, with an approval that is open meanwhile.

``earlier/REVISION.sql`` is a file's dump. On a server the same rows lie in tables that the migrations made up to there.
``earlier/server_REVISION.sql`` is what an earlier version itself kept on PostgreSQL: tables, functions and rows.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from agent.config.models import LedgerServer
from agent.ledger.chain.signed import PLAIN, ApprovalRule
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, RuleState, StepState
from agent.ledger.server.database import ServerDatabase, divide_history
from agent.ledger.server.roles import grants_script
from agent.ledger.store.schema import APPLICATION_ID, HEAD, REVISIONS, metadata
from agent.ledger.store.tables import migrate
from agent.model.signatures import Signers
from agent.model.states import MoveState, ProposalState
from policies.model.settings import Pin
from tests.conftest import MAJORS, NO_SERVER
from tests.ledger.clock import StillClock
from tests.ledger.conftest import FILE
from tests.ledger.servers import LedgerServers

EARLIER = Path(__file__).with_name("earlier")
BEFORE_SIGNATURES = REVISIONS[: REVISIONS.index("v0005")]
BEFORE_PARTITIONS = REVISIONS[: REVISIONS.index("v0008")]
KEPT_ON_SERVERS = ("v0008", "v0010")


@pytest.fixture
def file(tmp_path: Path, revision: str) -> Path:
    """The file as that version left it."""
    path = tmp_path / "ledger.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((EARLIER / f"{revision}.sql").read_text(encoding="utf-8"))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    return path


@pytest.fixture
def place(request: pytest.FixtureRequest, file: Path, revision: str) -> Iterator[Path | LedgerServer]:
    """The file, or the same on a server."""
    if request.param == FILE:
        yield file
        return
    servers: LedgerServers = request.getfixturevalue("servers")
    with servers.database("template1") as place:
        _make_tables(place, revision)
        _copy_rows(file, servers, place)
        yield place


def _make_tables(place: LedgerServer, revision: str) -> None:
    database = ServerDatabase(place, busy_seconds=5.0)
    with closing(database), database.write_after(f'CREATE SCHEMA "{place.schema_name}"') as transaction:
        migrate(transaction, revision)
        if revision not in BEFORE_PARTITIONS:
            divide_history(transaction, place.schema_name)


def _copy_rows(file: Path, servers: LedgerServers, place: LedgerServer) -> None:
    with closing(sqlite3.connect(file)) as connection, servers.session(place.dbname) as dba:
        dba.execute(f"SET search_path = {place.schema_name}".encode())
        for table in metadata.sorted_tables:
            found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table.name]).fetchone()
            cursor = connection.execute(f'SELECT * FROM "{table.name}"') if found else None
            for row in cursor or ():
                assert cursor is not None
                names = [sql.Identifier(column[0]) for column in cursor.description]
                marks = [sql.Placeholder()] * len(names)
                insert = "INSERT INTO {} ({}) VALUES ({})"
                text = sql.SQL(insert).format(
                    sql.Identifier(table.name), sql.SQL(", ").join(names), sql.SQL(", ").join(marks)
                )
                dba.execute(text, row)
            if found and table.primary_key.columns.keys() == ["id"]:
                last = f"(SELECT max(id) FROM {table.name})"
                dba.execute(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {last})".encode())


def chain_in(file: Path) -> list[tuple[int, str]]:
    """Number and hash of each row of the chain."""
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT id, hash FROM audit ORDER BY id").fetchall()


def test_there_is_a_ledger_of_every_revision() -> None:
    """So that whoever adds a revision adds its ledger."""
    assert {path.stem for path in EARLIER.glob("v*.sql")} == set(REVISIONS)


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_was_approved_before_the_upgrade_is_carried_out_after_it(
    place: Path | LedgerServer, file: Path, revision: str, tmp_path: Path, clock: StillClock
) -> None:
    """The chain keeps its hashes, pins, history and rules are there, and each open move is trusted and goes on."""
    _open_today(place, chain_in(file), revision, tmp_path, clock)


@pytest.mark.postgresql
@pytest.mark.xdist_group("ledger on a server")
@pytest.mark.skipif(not MAJORS, reason=NO_SERVER)
@pytest.mark.parametrize("revision", KEPT_ON_SERVERS)
def test_what_an_earlier_version_kept_on_a_server_is_opened(
    servers: LedgerServers, revision: str, tmp_path: Path, clock: StillClock
) -> None:
    """The same of a dump that is restored, as after a failure of that server."""
    with servers.database("template1") as place:
        with servers.session(place.dbname) as dba:
            dba.execute((EARLIER / f"server_{revision}.sql").read_bytes())
            before = dba.execute("SELECT id, hash FROM hotplace.audit ORDER BY id").fetchall()
        _open_today(place, before, revision, tmp_path, clock, samples=False)  # they stayed on that machine
        with servers.session(place.dbname) as dba:
            hours = dba.execute("SELECT (SELECT count(*) FROM hotplace.history), (SELECT count(*) FROM hotplace.work)")
            assert hours.fetchall() == [(1, 1)]


def _open_today(
    place: Path | LedgerServer,
    before: list[tuple[Any, ...]],
    revision: str,
    tmp_path: Path,
    clock: StillClock,
    *,
    samples: bool = True,
) -> None:
    clock.sleep(600)
    signed = revision not in BEFORE_SIGNATURES
    rule = ApprovalRule(Signers(EARLIER / "allowed_signers"), automatic=True) if signed else PLAIN
    with Ledger.open(place, clock, actor="today", rule=rule, anchors=tmp_path / "anchors", create=False) as ledger:
        rows = list(reversed(ledger.audit.rows(1000)))
        assert [(row.id, row.hash) for row in rows[: len(before)]] == before
        migrated = [] if revision == HEAD else [("ledger.migrated", {"was": revision, "now": HEAD})]
        assert [(row.event, row.facts) for row in rows[len(before) :]] == migrated
        assert ledger.audit.verify().ok
        _look_at_the_rest(ledger, clock, place, samples=samples)
        for move in open_moves(ledger, signed=signed):
            carry_out(ledger, clock, move)
        assert ledger.proposals.row(1).state is ProposalState.REJECTED
        assert ledger.audit.verify().ok


def open_moves(ledger: Ledger, *, signed: bool) -> list[MoveRow]:
    """What was approved and had not begun: by a person, and from the time of rules on under one."""
    settling, approved = ledger.moves.rows(proposal_id=2)
    assert (settling.state, approved.state) == (MoveState.SETTLING, MoveState.APPROVED)
    (step,) = ledger.moves.steps(settling.id)
    assert (step.state, step.sql) == (StepState.DONE, settling.move.route.steps[0].sql)
    if not signed:
        return [approved]
    assert [(row.state, row.approved, row.signed_by) for row in ledger.rules.rows("shop")] == [
        (RuleState.OPEN, (4,), ("anna",))
    ]
    return [approved, *ledger.moves.rows(proposal_id=4)]


def carry_out(ledger: Ledger, clock: StillClock, move: MoveRow) -> None:
    """Begin and end a move as an agent does."""
    ledger.leases.take("shop")
    assert ledger.rules.why_not_begin(move.proposal_id) in (None, "")
    ledger.moves.require_trust(move)
    for state in (MoveState.PRECHECK, MoveState.RUNNING):
        ledger.moves.transition(move.id, state, "go")
    step = ledger.moves.step_intent(move.id, 1, move.move.route.steps[0].sql)
    clock.sleep(5)
    ledger.moves.step_result(step, StepState.DONE, "")
    assert ledger.moves.transition(move.id, MoveState.PLACED, "done").state is MoveState.PLACED


def _look_at_the_rest(ledger: Ledger, clock: StillClock, place: Path | LedgerServer, *, samples: bool) -> None:
    (pin,) = ledger.pins.rows("shop", clock.now())
    assert (pin.pattern, pin.pin, pin.who, pin.reason) == ("public.t9", next(iter(Pin)), "anna", "is read at night")
    assert [row.state for row in ledger.proposals.rows(database="hr")] == [ProposalState.PROPOSED]
    document = ledger.state.load_document("shop", "status")
    assert document is not None
    assert document[1] == {"kept": 1}
    kept = ledger.state.load_arrays("shop", "heat")
    assert kept is not None
    assert kept[1]["a"].tolist() == [0, 1, 2, 3, 4]
    assert ledger.slots.known("shop", ["public.t1", "public.t2", "public.t3"]) == {"public.t1": 0, "public.t2": 1}
    if samples:
        found = list(ledger.history.read("shop", clock.now() - timedelta(days=1), clock.now()))
        assert [row.values.tolist() for row in found] == [[[3, 4]]]
    if isinstance(place, Path):
        assert place.stat().st_mode & 0o077 == 0


# With every PostgreSQL also every revision: `make soak`.
UPGRADED = REVISIONS[:-1] if os.environ.get("HOTPLACE_ALL_VERSIONS") else ("v0005", "v0008", REVISIONS[-2])
_FUNCTIONS = "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = %s::text::regnamespace"
MEMBER, WORKER = "upgrades_ledgers", "works_after_upgrades"


def _divide(servers: LedgerServers, place: LedgerServer) -> None:
    """Give schema and tables to the owner's role, as the script for a DBA of that version did."""
    script = grants_script(place.schema_name, {})
    begin, end = script.index("BEGIN;"), script.index("-- Rows that were written before")
    with servers.session(place.dbname) as dba:
        dba.execute(f"{script[begin:end]} COMMIT".encode())
        for (function,) in dba.execute(_FUNCTIONS, [place.schema_name]).fetchall():
            dba.execute(f"ALTER FUNCTION {function} OWNER TO hotplace_owner".encode())
        dba.execute(f"CREATE ROLE {MEMBER} LOGIN; GRANT hotplace_owner TO {MEMBER}".encode())


@pytest.fixture
def divided(servers: LedgerServers, file: Path, revision: str) -> Iterator[LedgerServer]:
    """The same on a server, divided among roles."""
    with servers.database("template1") as place:
        _make_tables(place, revision)
        _copy_rows(file, servers, place)
        _divide(servers, place)
        try:
            yield place
        finally:
            with servers.session(place.dbname) as dba:
                for role in (MEMBER, WORKER):
                    if dba.execute("SELECT to_regrole(%s) IS NOT NULL", [role]).fetchone() == (True,):
                        dba.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


@pytest.mark.postgresql
@pytest.mark.xdist_group("ledger on a server")
@pytest.mark.skipif(not MAJORS, reason=NO_SERVER)
@pytest.mark.parametrize("revision", UPGRADED)
def test_a_mere_member_of_the_owner_upgrades_a_divided_ledger(
    divided: LedgerServer, servers: LedgerServers, revision: str, tmp_path: Path, clock: StillClock
) -> None:
    """As the page has it: every table is the owner's then, and after the script for roles an agent works on."""
    clock.sleep(600)
    member = divided.model_copy(update={"user": MEMBER})
    with Ledger.open(member, clock, anchors=tmp_path / "anchors", create=False) as ledger:
        assert ledger.audit.rows(1)[0].facts == {"was": revision, "now": HEAD}
    with servers.session(divided.dbname) as dba:
        owners = dba.execute(
            "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = %s", [divided.schema_name]
        ).fetchall()
        assert owners == [("hotplace_owner",)]
        dba.execute(grants_script(divided.schema_name, {}).encode())
        dba.execute(f"CREATE ROLE {WORKER} LOGIN; GRANT hotplace_agent, hotplace_all TO {WORKER}".encode())
    worker = divided.model_copy(update={"user": WORKER})
    with Ledger.open(worker, clock, anchors=tmp_path / "anchors", create=False) as ledger:
        assert ledger.audit.verify().ok
        assert ledger.moves.rows(proposal_id=2)
