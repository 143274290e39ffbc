"""Samples next to a ledger on a server: fine ones in a file of this machine, and each hour on the server once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from agent.config.models import LedgerServer
from agent.ledger.errors import LedgerUnreachable
from agent.ledger.ledger import Ledger
from agent.ledger.rows import HistorySettings
from connectors.model.observation import DatabaseDemand
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, open_ledger
from tests.ledger.servers import LedgerServers
from tests.unit.samples import MADE_AT

pytestmark = ON_SERVER
HOUR = timedelta(hours=1)
NOON = MADE_AT.replace(hour=12, minute=0, second=0, microsecond=0)
FOREVER = (NOON - 900 * HOUR, NOON + 900 * HOUR)


@pytest.fixture
def server(servers: LedgerServers) -> LedgerServer:
    """The ledger that tests share."""
    return servers.emptied()


@pytest.fixture
def on_server(server: LedgerServer, tmp_path: Path, clock: StillClock) -> Iterator[Ledger]:
    """The agent's ledger."""
    with open_ledger(server, tmp_path / "ledger.db", clock) as opened:
        yield opened


@pytest.fixture
def elsewhere(server: LedgerServer, tmp_path: Path, clock: StillClock) -> Iterator[Ledger]:
    """The same ledger on another machine, whose file of samples is another one."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with open_ledger(server, folder / "ledger.db", clock) as opened:
        yield opened


@pytest.fixture
def dba(servers: LedgerServers, server: LedgerServer) -> Iterator[psycopg.Connection]:
    """A session of an administrator."""
    with servers.session(server.dbname) as session:
        session.execute("SET search_path = hotplace")
        yield session


def append(ledger: Ledger, number: float, database: str = "shop") -> None:
    """The sample of an hour after noon: so many transactions, and so many reads of one unit."""
    sample(ledger, NOON + number * HOUR, 60.0, number, database)


def sample(ledger: Ledger, at: datetime, seconds: float, figure: float, database: str = "shop") -> None:
    """One interval, as the sampler stores it."""
    ledger.history.append(database, at, seconds, np.array([7]), np.array([[figure], [1.0]]))
    ledger.work.append(database, at, seconds, DatabaseDemand(transactions=figure))
    ledger.samples.hand_over(database, at)


def numbers(ledger: Ledger) -> list[float]:
    """What can be read of it, in its order."""
    return [row.demand.transactions for row in ledger.work.since("shop", NOON - 900 * HOUR)]


def sent(dba: psycopg.Connection, database: str = "shop") -> list[tuple[float, float]]:
    """Hours that the server has, from noon, and the transactions of each; its history has the same."""
    query = "SELECT ended_at, body FROM work WHERE database = %s ORDER BY ended_at"
    found = dba.execute(query, [database]).fetchall()
    history = "SELECT ended_at FROM history WHERE database = %s AND resolution_seconds = 3600 ORDER BY ended_at"
    assert [at for at, _ in found] == [at for (at,) in dba.execute(history, [database]).fetchall()]
    noon = NOON.timestamp()
    return [((at / 1e6 - noon) / 3600, json.loads(body)["transactions"]) for at, body in found]


@contextmanager
def broken(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, *, after_commit: bool) -> Iterator[None]:
    """Within, the connection breaks at each commit: just before it, or before its answer is heard."""
    write = ledger._database.write

    @contextmanager
    def breaking(*, durable: bool = True) -> Iterator[Any]:
        with write(durable=durable) as transaction:
            yield transaction
            if not after_commit:
                raise LedgerUnreachable("gone")
        raise LedgerUnreachable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(ledger._database, "write", breaking)
        yield


def test_fine_samples_stay_and_hours_go(on_server: Ledger, elsewhere: Ledger, dba: psycopg.Connection) -> None:
    """The server has sums and means of hours that are over; the agent reads its own, other machines the hours."""
    for minute in range(1, 122):
        sample(on_server, NOON + timedelta(minutes=minute), 60.0, minute)
    assert sent(dba) == [(1.0, 30.5), (2.0, 90.5)]
    assert dba.execute("SELECT count(*) FROM history").fetchone() == (2,)
    assert numbers(on_server) == list(range(1, 122))
    assert numbers(elsewhere) == [30.5, 90.5]
    fine, hours = (list(ledger.history.read("shop", *FOREVER)) for ledger in (on_server, elsewhere))
    assert len(fine) == 121
    assert [(row.resolution_seconds, row.seconds, row.values[0].tolist()) for row in hours] == [
        (3600, 3600.0, [sum(range(1, 61))]),
        (3600, 3600.0, [sum(range(61, 121))]),
    ]
    assert [(row.started_at, row.ended_at) for row in hours] == [(NOON, NOON + HOUR), (NOON + HOUR, NOON + 2 * HOUR)]
    assert [row.of_hour_since for row in elsewhere.work.since("shop", NOON - HOUR)] == [NOON, NOON + HOUR]


def test_an_hour_belongs_to_a_time_only_as_a_whole(on_server: Ledger, elsewhere: Ledger) -> None:
    """What began before is left out, or a comparison would count the time of the moves."""
    for minute in range(1, 122):
        sample(on_server, NOON + timedelta(minutes=minute), 60.0, minute)
    for since, ends in ((NOON, [1, 2]), (NOON + timedelta(minutes=1), [2])):
        until = NOON + 2 * HOUR
        assert [(row.ended_at - NOON) / HOUR for row in elsewhere.work.between("shop", since, until)] == ends
        assert [(row.ended_at - NOON) / HOUR for row in elsewhere.history.read("shop", since, until)] == ends


def test_the_file_is_private_and_made_by_who_samples(on_server: Ledger, elsewhere: Ledger, tmp_path: Path) -> None:
    """Next to the anchors, for its account alone; a command that reads makes none."""
    append(on_server, 1)
    assert numbers(elsewhere) == []
    assert elsewhere.samples.waiting("shop", is_away=True) == 0
    elsewhere.samples.forget("shop")
    assert elsewhere.statements.between("shop", *FOREVER) == []
    made = tmp_path / "ledger.db.anchors.samples"
    assert [path.name for path in tmp_path.rglob("*.samples")] == [made.name]
    assert made.stat().st_mode & 0o777 == 0o600


def test_samples_wait_while_the_server_is_away(
    on_server: Ledger, dba: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples go on; once the server is there again it has each hour, and as many wait as it lacks."""
    append(on_server, 1)
    with broken(on_server, monkeypatch, after_commit=False):
        for number in (2, 3, 3.5):
            append(on_server, number)
        assert on_server.samples.waiting("shop", is_away=True) == 4
        assert on_server.samples.waiting("shop", is_away=False) == 3
    assert sent(dba) == []
    append(on_server, 4.5)
    assert sent(dba) == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (3.5, 3.5)]
    assert on_server.samples.waiting("shop", is_away=False) == 0
    assert on_server.samples.waiting("shop", is_away=True) == 1


def test_an_hour_comes_once_however_often_it_is_sent(
    on_server: Ledger, server: LedgerServer, tmp_path: Path, clock: StillClock, dba: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The answer of the commit is lost; the agent starts again; two processes of a machine send the same."""
    append(on_server, 1)
    with broken(on_server, monkeypatch, after_commit=True):
        append(on_server, 2)
    append(on_server, 3)
    expected = [(1.0, 1.0), (2.0, 2.0)]
    assert sent(dba) == expected
    for _ in range(2):
        with open_ledger(server, tmp_path / "ledger.db", clock) as again:
            again.samples.hand_over("shop", NOON + 3 * HOUR)
        assert sent(dba) == expected


def test_what_an_older_copy_of_the_server_lacks_comes_again(on_server: Ledger, dba: psycopg.Connection) -> None:
    """With the next hour; nobody has to say so."""
    for number in (1, 2, 3):
        append(on_server, number)
    dba.execute("DELETE FROM history; DELETE FROM work")
    append(on_server, 4)
    assert sent(dba) == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]


def test_an_hour_that_goes_on_takes_its_own_place(on_server: Ledger, dba: psycopg.Connection) -> None:
    """A clock that was ahead sends an hour too early; with all of its intervals it takes the place of its part."""
    append(on_server, 0.5)
    append(on_server, 30)
    assert sent(dba) == [(0.5, 0.5)]
    append(on_server, 0.75)
    append(on_server, 1.5)
    assert sent(dba) == [(0.75, 0.625)]


def test_an_hour_of_two_agents_has_a_part_of_each(
    on_server: Ledger, elsewhere: Ledger, dba: psycopg.Connection
) -> None:
    """One ends within the hour and another goes on; both parts count, and either reads its own finely."""
    append(on_server, 0.25)
    append(on_server, 0.5)
    append(elsewhere, 0.75)
    append(elsewhere, 1.5)
    on_server.samples.hand_over("shop", NOON + 2 * HOUR)
    assert sent(dba) == [(0.5, 0.375), (0.75, 0.75)]
    assert numbers(on_server) == [0.25, 0.5, 0.75]
    assert numbers(elsewhere) == [0.375, 0.75, 1.5]


def test_what_another_agent_has_sampled_stays_here(
    on_server: Ledger, elsewhere: Ledger, dba: psycopg.Connection
) -> None:
    """Samples of a time in which another agent acts are not sent; those of other databases are."""
    on_server.leases.take("shop")
    append(on_server, 1)
    append(on_server, 2)
    dba.execute("UPDATE leases SET expires_at = 0")
    elsewhere.leases.take("shop")
    append(on_server, 3)
    append(on_server, 1, "other")
    append(on_server, 2, "other")
    assert sent(dba) == [(1.0, 1.0)]
    assert sent(dba, "other") == [(1.0, 1.0)]
    on_server.samples.forget("shop")
    assert numbers(on_server) == [1.0]
    assert on_server.samples.waiting("shop", is_away=True) == 0


def test_samples_end_with_their_age(on_server: Ledger, dba: psycopg.Connection) -> None:
    """The file keeps what a ledger's file would, the server what was sent of it; an hour that is gone is not sent."""
    keep = HistorySettings(history_seconds=86400.0)
    for number in range(1, 4):
        append(on_server, number)
    on_server.history.fold(NOON + 26.5 * HOUR, keep)
    assert [(row.ended_at - NOON) / HOUR for row in on_server.history.read("shop", *FOREVER)] == [1, 2, 3]
    assert [row.resolution_seconds for row in on_server.history.read("shop", *FOREVER)] == [3600, 3600, 0]
    before = sent(dba)
    append(on_server, 27)
    append(on_server, 28)
    assert sent(dba) == [*before, (3.0, 3.0), (27.0, 27.0)]


def test_two_agents_have_names_that_stay(
    on_server: Ledger, elsewhere: Ledger, server: LedgerServer, tmp_path: Path, clock: StillClock
) -> None:
    """Of their machines, over restarts."""
    assert on_server.agent_name != elsewhere.agent_name != ""
    with open_ledger(server, tmp_path / "ledger.db", clock) as again:
        assert again.agent_name == on_server.agent_name
