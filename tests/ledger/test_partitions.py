"""History on a server: its weeks are made ahead, dropped as a whole when past for all databases, and by no lie."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import psycopg
import pytest

from agent.config.models import LedgerServer
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from agent.ledger.server.roles import grants_script
from agent.ledger.store.database import Database
from agent.ledger.store.schema import EPOCH, microseconds
from agent.ledger.store.tables import migrate
from connectors.model.observation import DatabaseDemand
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, damage, open_ledger
from tests.ledger.servers import AGENT, LedgerServers

pytestmark = ON_SERVER

HOUR, WEEK = timedelta(hours=1), timedelta(weeks=1)
TWO_WEEKS = HistorySettings()
WEEKS = """
SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = %s::regclass
 ORDER BY 1
"""


@pytest.fixture
def server(servers: LedgerServers) -> Iterator[LedgerServer]:
    """A ledger of its own, divided among roles, reached as an agent of all databases."""
    with servers.database() as made:
        with servers.session(made.dbname) as dba:
            dba.execute(grants_script("hotplace", {}).encode())
        yield made.model_copy(update={"user": AGENT})


@pytest.fixture
def dba(servers: LedgerServers, server: LedgerServer) -> Iterator[psycopg.Connection]:
    """An administrator's session in it."""
    with servers.session(server.dbname) as session:
        session.execute("SET search_path = hotplace")
        yield session


@pytest.fixture
def agents(server: LedgerServer, path: Path, clock: StillClock) -> Iterator[tuple[Ledger, Ledger]]:
    """Two agents on it."""
    with open_ledger(server, path, clock) as first, open_ledger(server, path.with_name("b"), clock) as second:
        yield first, second


def weeks(dba: psycopg.Connection, table: str = "history") -> list[str]:
    """The partitions by name."""
    return [name for (name,) in dba.execute(WEEKS.encode(), [f"hotplace.{table}"]).fetchall()]


def week_of(at: datetime, table: str = "history") -> str:
    """The partition of a time."""
    return f"{table}_{EPOCH + (at - EPOCH) // WEEK * WEEK:%Y_%m_%d}"


def server_time(ledger: Ledger) -> datetime:
    """The clock of the server."""
    database: Database = ledger._database
    with database.read() as reading:
        return database.now(reading)


def store(ledger: Ledger, database: str, *ends: datetime) -> None:
    """Let the server have an hour of a database for each end, of which this machine has no samples any more."""
    for at in ends:
        ledger.history.append(database, at, 60.0, np.array([1]), np.ones((1, 1)))
        ledger.work.append(database, at, 60.0, DatabaseDemand(reads=1.0))
        ledger.samples.hand_over(database, at + 2 * HOUR)
        for table in ("history", "work"):
            damage(ledger, f"DELETE FROM {table}")


def rows_in(dba: psycopg.Connection, table: str) -> int:
    """How many rows a partition has."""
    found = dba.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert found is not None
    return int(found[0])


def test_a_past_week_is_dropped_as_a_whole(agents: tuple[Ledger, Ledger], dba: psycopg.Connection) -> None:
    """Its rows stay until the last of them is past; then the table is gone, and its rows and bytes are told."""
    ledger, now = agents[0], server_time(agents[0])
    old, kept = now - 5 * WEEK, now - WEEK
    store(ledger, "shop", old, kept, now)
    ledger.history.fold(now - 4 * WEEK, TWO_WEEKS)
    assert {week_of(old), week_of(kept), week_of(now)} <= set(weeks(dba))
    assert (rows_in(dba, week_of(old)), rows_in(dba, "history_other")) == (1, 0)
    assert rows_in(dba, week_of(old, "work")) == 1
    report = ledger.history.fold(now, TWO_WEEKS)
    assert (report.dropped, report.bytes_before > 0) == (2, True), "one of history, one of work"
    assert week_of(old) not in weeks(dba)
    assert week_of(old, "work") not in weeks(dba, "work")
    assert len(list(ledger.history.read("shop", now - 9 * WEEK, now))) == 2


def test_the_next_weeks_are_there_in_time(agents: tuple[Ledger, Ledger], dba: psycopg.Connection) -> None:
    """Two weeks ahead, from the start on; one that is missing is made, with the rows that came meanwhile."""
    ledger, now = agents[0], server_time(agents[0])
    ahead = [week_of(now + number * WEEK) for number in range(3)]
    assert weeks(dba) == [*ahead, "history_other"]
    dba.execute(f"DROP TABLE {ahead[0]}, {ahead[2]}".encode())
    store(ledger, "shop", now)
    assert rows_in(dba, "history_other") == 1
    ledger.history.fold(now, TWO_WEEKS)
    assert weeks(dba) == [*ahead, "history_other"]
    assert (rows_in(dba, ahead[0]), rows_in(dba, "history_other")) == (1, 0)
    assert len(list(ledger.history.read("shop", now - WEEK, now))) == 1


def test_a_week_waits_for_the_database_that_is_kept_longest(
    agents: tuple[Ledger, Ledger], dba: psycopg.Connection
) -> None:
    """Another agent is configured for longer, or has not said yet: then a year."""
    short, long = agents
    now = server_time(short)
    old = now - 5 * WEEK
    store(short, "shop", old)
    store(long, "hr", old)
    assert short.history.fold(now, TWO_WEEKS).dropped == 0, "nothing is known of hr"
    long.history.fold(now, HistorySettings(history_seconds=8 * WEEK.total_seconds()))
    assert short.history.fold(now, TWO_WEEKS).dropped == 0
    assert week_of(old) in weeks(dba)
    long.history.fold(now, TWO_WEEKS)
    assert week_of(old) not in weeks(dba)


def test_rows_of_no_week_go_by_their_age(agents: tuple[Ledger, Ledger], dba: psycopg.Connection) -> None:
    """A clock that was years away makes no partition: those rows are kept apart and deleted."""
    ledger, now = agents[0], server_time(agents[0])
    store(ledger, "shop", now - 200 * WEEK, now + 200 * WEEK)
    before = weeks(dba)
    assert ledger.history.fold(now, TWO_WEEKS).dropped == 2
    assert weeks(dba) == before
    assert (rows_in(dba, "history_other"), rows_in(dba, "work_other")) == (1, 1)


def test_a_reader_keeps_its_weeks(agents: tuple[Ledger, Ledger], dba: psycopg.Connection) -> None:
    """What is dropped waits for it only a moment, folds what is there, and goes the next time."""
    ledger, now = agents[0], server_time(agents[0])
    begins = EPOCH + (now - 5 * WEEK - EPOCH) // WEEK * WEEK
    store(ledger, "shop", begins + 10 * HOUR, begins + 20 * HOUR)
    ledger.history.fold(now - 5 * WEEK, TWO_WEEKS)
    looking = agents[1].history.read("shop", now - 9 * WEEK, now)
    next(looking)
    assert ledger.history.fold(now, TWO_WEEKS).dropped == 0
    assert len(list(looking)) == 1
    assert ledger.history.fold(now, TWO_WEEKS).dropped == 4


@pytest.mark.parametrize("clock_of_agent", [2**62, -(2**62)])
def test_a_lie_drops_nothing_of_another_team(
    agents: tuple[Ledger, Ledger], dba: psycopg.Connection, servers: LedgerServers, server: LedgerServer,
    clock_of_agent: int,
) -> None:  # fmt: skip
    """An agent's password, any clock and any document of its own: the other team's weeks stay, and no table is its."""
    ledger, now = agents[0], server_time(agents[0])
    store(ledger, "pay", now - WEEK, now)
    ledger.history.fold(now, TWO_WEEKS)
    dba.execute("CREATE ROLE mallory_team; CREATE ROLE mallory LOGIN; GRANT hotplace_agent, mallory_team TO mallory")
    dba.execute("INSERT INTO teams VALUES ('mallory_team', 'sim')")
    try:
        host = str(servers.server.folder)
        with psycopg.connect(host=host, user="mallory", dbname=server.dbname, autocommit=True) as hostile:
            hostile.execute("SET search_path = hotplace")
            hostile.execute("INSERT INTO documents VALUES ('sim', 'history kept', 0, '0')")
            hostile.execute("INSERT INTO documents VALUES ('', 'history kept', 0, '1); DROP TABLE audit; --')")
            found = hostile.execute(f"SELECT dropped FROM keep_history({clock_of_agent})".encode()).fetchone()
            assert found == (0,)
            for refused in (
                f"SELECT * FROM {week_of(now)}",
                "SELECT * FROM history_other",
                f"DROP TABLE {week_of(now)}",
                f"ALTER TABLE history DETACH PARTITION {week_of(now)}",
                "CREATE TABLE mine PARTITION OF history FOR VALUES FROM (0) TO (1)",
                "CREATE TABLE hotplace.mine (id int)",
                "TRUNCATE history",
                "ALTER FUNCTION keep_history(bigint) SECURITY INVOKER",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    hostile.execute(refused.encode())
            assert hostile.execute("SELECT count(*) FROM history").fetchone() == (0,)
            assert dba.execute("SELECT count(*) FROM history").fetchone() == (2,)
    finally:
        dba.execute("DROP OWNED BY mallory, mallory_team; DROP ROLE mallory, mallory_team")


def test_only_agents_keep_history(dba: psycopg.Connection) -> None:
    """A reader or approver may not call what makes and drops weeks."""
    for role, may in (("reader", False), ("approver", False), ("agent", True)):
        question = f"SELECT has_function_privilege('hotplace_{role}', 'keep_history(bigint)', 'EXECUTE')"
        assert dba.execute(question.encode()).fetchone() == (may,), role


def test_present_rows_are_moved_into_weeks(servers: LedgerServers, path: Path, clock: StillClock) -> None:
    """A ledger from before keeps every row under its number, and numbers go on."""
    with servers.database("template1") as place:
        _make_older(place)
        with servers.session(place.dbname) as dba:
            dba.execute("SET search_path = hotplace")
            insert = """
                INSERT INTO history (database, resolution_seconds, started_at, ended_at, seconds, signals, body)
                VALUES ('shop', 0, 0, %s, 60, 1, ''), ('shop', 0, 0, 7, 60, 1, '')
            """
            at = microseconds(clock.now())
            dba.execute(insert, [at])
            dba.execute("INSERT INTO work (database, ended_at, seconds, body) VALUES ('shop', %s, 60, '{}')", [at])
            queries = b"SELECT * FROM history ORDER BY id", b"SELECT * FROM work ORDER BY id"
            before = [dba.execute(query).fetchall() for query in queries]
            with open_ledger(place, path, clock) as ledger:
                assert [dba.execute(query).fetchall() for query in queries] == before
                assert dba.execute("SELECT relkind FROM pg_class WHERE oid = 'work'::regclass").fetchone() == ("p",)
                now = server_time(ledger)
                assert week_of(now) in weeks(dba)
                store(ledger, "shop", now)
                assert dba.execute(f"SELECT id FROM {week_of(now)}".encode()).fetchall() == [(3,)]
                assert rows_in(dba, "history_other") >= 1, "the one of 1970"


def _make_older(place: LedgerServer) -> None:
    """A ledger as the revision before this one left it."""
    from agent.ledger.server.database import ServerDatabase

    database = ServerDatabase(place, busy_seconds=5.0)
    with database.write_after('CREATE SCHEMA "hotplace"') as transaction:
        migrate(transaction, "v0007")
    database.close()
