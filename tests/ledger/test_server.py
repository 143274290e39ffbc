"""What only a ledger on a server can meet: its locks, its privileges, sessions that it ends, and its durability."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import delete, text

from agent.config.models import LedgerConfig, LedgerServer
from agent.ledger.errors import (
    LedgerBusy,
    LedgerCorrupt,
    LedgerMissing,
    LedgerReadOnly,
    LedgerTooNew,
    LedgerUnreachable,
    WrongState,
)
from agent.ledger.ledger import Ledger
from agent.ledger.server.database import ServerDatabase
from agent.ledger.store import schema
from agent.ledger.store.database import KEPT_CONNECTIONS
from agent.ledger.store.schema import HEAD
from agent.ledger.store.tables import migrate
from agent.service.doctor import ledger_findings
from connectors.kit.contract import Retry
from connectors.kit.findings import Severity
from tests.labs.postgresql import wait_until
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, approved, note, open_ledger, stored
from tests.ledger.servers import TEMPLATE, LedgerServers

pytestmark = ON_SERVER


@pytest.fixture
def server(servers: LedgerServers) -> LedgerServer:
    """The ledger that the tests share, empty."""
    return servers.emptied()


@pytest.fixture
def open_ledgers(server: LedgerServer, path: Path, clock: StillClock) -> Iterator[list[Ledger]]:
    """Two agents' ledgers over it."""
    with ExitStack() as stack:
        yield [stack.enter_context(open_ledger(server, path, clock)) for _ in range(2)]


@pytest.fixture
def ledger_on_server(open_ledgers: list[Ledger]) -> Ledger:
    """One of them."""
    return open_ledgers[0]


@pytest.fixture
def unmade(servers: LedgerServers) -> Iterator[LedgerServer]:
    """A database without a ledger."""
    with servers.database("template1") as place:
        yield place


def anchors(path: Path) -> Path:
    """The file of anchors of a test."""
    return path.with_name("anchors")


def test_agents_write_at_once(open_ledgers: list[Ledger]) -> None:
    """One chain, no row lost or twice, although each appends to what it has read."""

    def write(ledger: Ledger) -> None:
        for number in range(10):
            note(ledger, str(number))
            ledger.slots.of("shop", [f"{id(ledger)} {number}", f"both {number}"])

    threads = [threading.Thread(target=write, args=[ledger]) for ledger in open_ledgers for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = open_ledgers[0]
    assert ledger.audit.verify().ok
    assert [row.event for row in ledger.audit.rows(1000)].count("space.opened") == 40
    keys = [f"{id(each)} {number}" for each in open_ledgers for number in range(10)]
    keys += [f"both {number}" for number in range(10)]
    assert sorted(ledger.slots.of("shop", keys).tolist()) == list(range(30))


def test_a_decision_sees_the_one_that_it_waited_for(open_ledgers: list[Ledger]) -> None:
    """What another agent decides while an approval waits for the lock is not approved over."""
    first, second = open_ledgers
    number = stored(first)
    digest = first.proposals.row(number).digest
    refusals: list[BaseException] = []

    def approve() -> None:
        try:
            second.proposals.approve(number, who="anna", origin="tty", digest=digest)
        except WrongState as error:
            refusals.append(error)

    waiting = threading.Thread(target=approve)
    with first._database.write() as transaction:
        waiting.start()
        waiting.join(0.3)
        transaction.update(schema.proposals, [number], {"state": "rejected"})
    waiting.join()
    assert ["is rejected and cannot be approved" in str(error) for error in refusals] == [True]


def test_a_lock_that_is_held_is_waited_for_only_so_long(server: LedgerServer, clock: StillClock, path: Path) -> None:
    """Then the error may be tried again; readers and samples go on all the while."""
    with open_ledger(server, path, clock) as first:
        number = stored(first)
        with Ledger.open(server, clock, anchors=anchors(path), busy_seconds=0.05) as other:
            with first._database.write():
                assert other.proposals.row(number).id == number
                other.state.save_document("shop", "status", {"a": 1})
                with pytest.raises(LedgerBusy, match="schema hotplace") as caught:
                    note(other, "locked out")
            assert caught.value.retry is Retry.LATER
            note(other, "free again")
            assert other.audit.verify().ok


@pytest.mark.parametrize(("usual", "expected"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_an_intent_waits_for_the_disk_and_a_sample_does_not(
    servers: LedgerServers, server: LedgerServer, usual: str, expected: str
) -> None:
    """Whatever the site has set for all its sessions; a level above the usual one stays."""
    database = ServerDatabase(server, busy_seconds=1.0)
    with servers.session() as dba:
        dba.execute(f"ALTER ROLE {server.user} SET synchronous_commit = {usual}".encode())
        try:
            for durable, level in ((True, expected), (False, "off")):
                with database.write(durable=durable) as transaction:
                    assert transaction.scalar(text("SHOW synchronous_commit")) == level
        finally:
            dba.execute(f"ALTER ROLE {server.user} RESET synchronous_commit".encode())
            database.close()


def test_what_reads_cannot_write(server: LedgerServer) -> None:
    """The server refuses it."""
    database = ServerDatabase(server, busy_seconds=1.0)
    with pytest.raises(LedgerReadOnly), database.read() as reading:
        reading.rows(delete(schema.audit_head).returning(schema.audit_head.c.id))
    database.close()


def test_sessions_that_were_wanted_for_a_moment_are_given_back(servers: LedgerServers, server: LedgerServer) -> None:
    """However many threads asked at the same time: a server counts sessions, and those that rest too."""
    database = ServerDatabase(server, busy_seconds=5.0)
    name = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hotplace ledger' AND datname = %s"
    with servers.session() as dba, closing(database):
        with ExitStack() as at_once:
            for _ in range(KEPT_CONNECTIONS + 3):
                at_once.enter_context(database.read())
            assert dba.execute(name, [server.dbname]).fetchone() == (KEPT_CONNECTIONS + 3,)
        wait_until(lambda: dba.execute(name, [server.dbname]).fetchone() == (KEPT_CONNECTIONS,), "their end", 20.0)


def test_sessions_that_the_server_ended_are_replaced(servers: LedgerServers, open_ledgers: list[Ledger]) -> None:
    """After a restart or a failover the next call works, for reading and writing."""
    ledger = open_ledgers[0]
    number = approved(ledger)
    with servers.session() as dba:
        end = "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE application_name = 'hotplace ledger'"
        assert len(dba.execute(end).fetchall()) >= 2
    assert ledger.proposals.row(number).id == number
    note(ledger, "written")
    assert ledger.audit.verify().ok


def test_a_session_that_ends_half_way_decides_nothing(servers: LedgerServers, open_ledgers: list[Ledger]) -> None:
    """The error says that the ledger does not answer, and may be tried again."""
    ledger = open_ledgers[0]
    before = ledger.audit.verify().rows

    def decide() -> None:
        with ledger._database.write() as transaction, servers.session() as dba:
            ledger.audit.append(transaction, "space.opened", "half", who="x", reason="")
            dba.execute("SELECT pg_terminate_backend(%s, 2000)", [transaction.scalar(text("SELECT pg_backend_pid()"))])
            ledger.audit.append(transaction, "space.opened", "never", who="x", reason="")

    with pytest.raises(LedgerUnreachable) as caught:
        decide()
    assert caught.value.retry is Retry.LATER
    assert ledger.audit.verify().rows == before


def test_a_server_that_is_away_is_named_without_the_password(
    tmp_path: Path, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it was looked for, and the next step."""
    monkeypatch.setenv("LEDGER_PASSWORD", "very-secret")
    place = LedgerServer(
        host=str(tmp_path),
        dbname="ledger",
        user="agent",
        password={"env": "LEDGER_PASSWORD"},  # type: ignore[arg-type]
    )
    with pytest.raises(LedgerUnreachable, match=r"agent@.*/ledger \(schema hotplace\) does not answer") as caught:
        Ledger.open(place, clock, anchors=tmp_path / "anchors")
    assert "very-secret" not in f"{caught.value} {caught.value.advice}"


def test_a_ledger_is_made_where_there_is_none(unmade: LedgerServer, path: Path, clock: StillClock) -> None:
    """Once: its chain begins with that. Not where it was there before, by its anchors."""
    with pytest.raises(LedgerMissing, match="there is no ledger"):
        Ledger.open(unmade, clock, anchors=anchors(path), create=False)
    for _ in range(2):
        with Ledger.open(unmade, clock, anchors=anchors(path)) as ledger:
            assert [row.event for row in ledger.audit.rows()] == ["ledger.created"]
            assert ledger.figures()["revision"] == [HEAD]
            assert ledger.is_shared, "it may be away while this machine is well"
    elsewhere = unmade.model_copy(update={"schema_name": "another"})
    with pytest.raises(LedgerMissing, match="was here and is gone"):
        Ledger.open(elsewhere, clock, anchors=anchors(path))


def test_agents_that_start_together_make_one_ledger(unmade: LedgerServer, path: Path, clock: StillClock) -> None:
    """The others find it made."""
    failures: list[BaseException] = []

    def start(number: int) -> None:
        try:
            Ledger.open(unmade, clock, anchors=path.with_name(f"anchors{number}")).close()
        except Exception as error:  # noqa: BLE001  # counted below
            failures.append(error)

    threads = [threading.Thread(target=start, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with Ledger.open(unmade, clock, anchors=anchors(path)) as ledger:
        assert ledger.audit.verify().rows == 1


def test_a_schema_of_something_else_is_refused(
    servers: LedgerServers, unmade: LedgerServer, path: Path, clock: StillClock
) -> None:
    """Nothing is made in it."""
    with servers.session(unmade.dbname) as dba:
        dba.execute("CREATE SCHEMA hotplace; CREATE TABLE hotplace.orders (id int)")
        with pytest.raises(LedgerCorrupt, match="something else"):
            Ledger.open(unmade, clock, anchors=anchors(path))
        assert dba.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'hotplace'").fetchall() == [("orders",)]


def test_a_newer_ledger_is_refused(servers: LedgerServers, path: Path, clock: StillClock) -> None:
    """Its tables may mean something else."""
    with servers.database() as place:
        with servers.session(place.dbname) as dba:
            dba.execute("UPDATE hotplace.alembic_version SET version_num = 'v9999'")
        with pytest.raises(LedgerTooNew, match="v9999"):
            Ledger.open(place, clock, anchors=anchors(path))


def test_a_user_without_rights_gets_the_statement(
    servers: LedgerServers, unmade: LedgerServer, path: Path, clock: StillClock
) -> None:
    """From the error, and from doctor, before and after the tables are there."""
    with servers.session(unmade.dbname) as dba:
        dba.execute("DROP ROLE IF EXISTS weak; CREATE ROLE weak LOGIN")
        try:
            weak = unmade.model_copy(update={"user": "weak"})
            config = LedgerConfig(postgresql=weak, anchors=anchors(path))
            with pytest.raises(LedgerReadOnly) as caught:
                Ledger.open(weak, clock, anchors=anchors(path))
            make_schema = 'CREATE SCHEMA "hotplace" AUTHORIZATION "weak";'
            assert make_schema in caught.value.advice
            assert make_schema in [finding.remedy for finding in ledger_findings(config)]
            Ledger.open(unmade, clock, anchors=anchors(path)).close()
            dba.execute("GRANT USAGE ON SCHEMA hotplace TO weak; GRANT SELECT ON ALL TABLES IN SCHEMA hotplace TO weak")
            errors = [each.remedy for each in ledger_findings(config) if each.severity is Severity.ERROR]
            assert 'GRANT INSERT ON "hotplace".steps TO "weak";' in errors
            assert not [each for each in errors if "SELECT" in each]
        finally:
            dba.execute("DROP OWNED BY weak; DROP ROLE weak")


def test_doctor_says_which_ledger_it_is(server: LedgerServer, path: Path) -> None:
    """Its server's version and the revision of its tables; that this one does not wait for its disk."""
    found = {each.code: each for each in ledger_findings(LedgerConfig(postgresql=server, anchors=anchors(path)))}
    assert found["ledger_server"].severity is Severity.OK
    assert set(found) == {"ledger_server", "ledger_durability"}, "it can be written, and no privilege is missing"
    assert found["ledger_server"].values["revision"] == HEAD
    assert "fsync = off" in found["ledger_durability"].sentence


def test_doctor_says_that_a_setting_makes_it_read_only(
    servers: LedgerServers, server: LedgerServer, path: Path
) -> None:
    """Not a standby: sessions of its database begin so."""
    with servers.session(server.dbname) as dba:
        dba.execute(f'ALTER DATABASE "{server.dbname}" SET default_transaction_read_only = on'.encode())
        try:
            found = {
                each.code: each for each in ledger_findings(LedgerConfig(postgresql=server, anchors=anchors(path)))
            }
        finally:
            dba.execute("SET default_transaction_read_only = off")
            dba.execute(f'ALTER DATABASE "{server.dbname}" RESET default_transaction_read_only'.encode())
    assert found["ledger_read_only"].severity is Severity.ERROR
    assert "default_transaction_read_only" in found["ledger_read_only"].sentence


def test_a_temporary_table_never_takes_the_place_of_one_of_ours(ledger_on_server: Ledger) -> None:
    """Although PostgreSQL looks for those first: a pooler may hand us the session of another program."""
    ledger = ledger_on_server
    with ledger._database.write() as transaction:
        transaction.driver.execute("CREATE TEMP TABLE audit_head (LIKE audit_head INCLUDING ALL)")
    approved(ledger)
    assert ledger.audit.verify().ok
    with ledger._database.write() as transaction:
        assert transaction.scalar(text("SELECT count(*) FROM pg_temp.audit_head")) == 0


def test_an_older_ledger_is_brought_up_to_date(
    servers: LedgerServers, unmade: LedgerServer, path: Path, clock: StillClock
) -> None:
    """From the first revision on, with what it holds; its tables are those of a new one, to the column and index."""
    database = ServerDatabase(unmade, busy_seconds=5.0)
    with database.write_after('CREATE SCHEMA "hotplace"') as transaction:
        migrate(transaction, "v0001")
    database.close()
    with servers.session(unmade.dbname) as dba:
        dba.execute("INSERT INTO hotplace.documents VALUES ('shop', 'status', 0, '{\"kept\": 1}')")
    with Ledger.open(unmade, clock, anchors=anchors(path), create=False) as ledger:  # it is there: none is made
        assert [row.event for row in ledger.audit.rows()] == ["ledger.migrated"]
        found = ledger.state.load_document("shop", "status")
        assert found is not None
        assert found[1] == {"kept": 1}
        approved(ledger)
    with servers.session(unmade.dbname) as migrated, servers.session(TEMPLATE) as made_at_once:
        assert _definitions(migrated) == _definitions(made_at_once)


def _definitions(dba: psycopg.Connection) -> list[tuple[object, ...]]:
    columns = """
        SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
        WHERE table_schema = 'hotplace' ORDER BY table_name, ordinal_position
    """
    rest = """
        SELECT indexdef FROM pg_indexes WHERE schemaname = 'hotplace' UNION ALL
        SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'hotplace'::regnamespace AND contype IN ('f', 'u', 'p') ORDER BY 1
    """
    return [*dba.execute(columns).fetchall(), *dba.execute(rest).fetchall()]
