"""Connections that take part in the load of a Db2 database, over IBM's real driver and the emulated server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from connectors.db2.sampler import CountedProcessors, session_counters
from tests.db2.conftest import Connect
from tests.labs.db2.client import Db2, running_db2
from tests.labs.db2.world import LoadConnection

pytestmark = [pytest.mark.db2, pytest.mark.xdist_group("db2")]
BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def db2() -> Iterator[Db2]:
    """An emulated server, as new."""
    with running_db2("11.5") as running:
        yield running


def load(times: int) -> list[LoadConnection]:
    """Two tills and a monitor, each having done so many times what it does between two samples."""

    def made(handle: int, application: str, **figures: int) -> LoadConnection:
        return LoadConnection(handle, BEGAN, "SHOP", application, {name: n * times for name, n in figures.items()})

    till = {"CLIENT_IDLE_WAIT_TIME": 600, "TOTAL_APP_RQST_TIME": 4000, "ACT_COMPLETED_TOTAL": 1000,
            "POOL_READ_TIME": 3000, "PREFETCH_WAIT_TIME": 400}  # fmt: skip
    monitor = {"CLIENT_IDLE_WAIT_TIME": 100_000, "TOTAL_APP_RQST_TIME": 1, "ACT_COMPLETED_TOTAL": 1}
    return [made(1, "till", **till), made(2, "till", **till), made(3, "monitor", **monitor)]


def test_emulated_server_rule_25_connections_are_counted(db2: Db2, connect: Connect) -> None:
    """Two tills take part and wait for reads; the monitor's pause is longer than any of theirs."""
    connector = connect()
    samples = []
    for times in range(1, 4):
        db2.lab.works(*load(times), activities=2001, request_ms=8001)
        samples.append(connector.sample())
    before, after = samples[1], samples[2]
    seconds = after.monotonic_seconds - before.monotonic_seconds

    def passed(name: str) -> float:
        return float(after.database[name] - before.database[name])

    assert passed("population_seconds") == pytest.approx(2 * seconds)
    assert passed("readers_seconds") == pytest.approx(2 * seconds)
    assert passed("readers_active_seconds") == pytest.approx(8.0, rel=0.01)
    assert passed("readers_transactions") == pytest.approx(2000, rel=0.01)


def test_emulated_server_rule_27_processors_are_counted_once_for_each_host(db2: Db2, connect: Connect) -> None:
    """Three members on two hosts of four processors: eight in all; requests took half a second of them."""
    db2.lab.behave(members=3, hosts=("a", "b"))
    connector = connect()
    samples = []
    for _ in range(2):
        db2.lab.works(activities=100, request_ms=900, processor_us=500_000)
        samples.append(connector.sample())
    before, after = samples
    seconds = after.monotonic_seconds - before.monotonic_seconds
    assert after.database["processor_seconds"] - before.database["processor_seconds"] == pytest.approx(0.5)
    assert after.database["processors_seconds"] - before.database["processors_seconds"] == pytest.approx(8 * seconds)


def test_processors_stay_unknown_where_one_member_does_not_tell() -> None:
    """A version without the column answers NULL: no processor time at all, rather than that of some members."""
    told: list[Any] = [(0, "then", 1, 1, 0, 0, None, 5), (1, "then", 1, 1, 0, 0, None, None)]
    nothing: Any = None  # is not asked
    assert CountedProcessors().total(nothing, told, 1.0) == {}
    assert CountedProcessors().total(nothing, [row[:7] for row in told], 1.0) == {}


def test_members_of_one_connection_are_added_up() -> None:
    """What a connection has two members do is its own; another one with the same handle began later."""
    rows = [(7, "12.00", "SHOP", "till", 100, 300, 5, 200, 0, 0), (7, "12.00", "SHOP", "till", 0, 50, 0, 40, 10, None),
            (7, "11.00", "SHOP", "till", 1, 1, 1, 1, 1, 1)]  # fmt: skip
    first, second = session_counters(rows)
    assert (first.kind, first.thinking, first.working, first.done) == ("SHOP/till", 0.1, 0.35, 5.0)
    assert first.reading == pytest.approx(0.25)
    assert first.name != second.name
