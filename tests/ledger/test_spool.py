"""The spool: samples reach a ledger on a server once, however often it goes away, and never fill the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.config.ledger import LedgerServer
from agent.ledger import Ledger, LedgerUnreachable
from agent.ledger.measured.spool import Spool
from connectors.model import DatabaseDemand
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, open_ledger
from tests.ledger.servers import LedgerServers
from tests.unit.samples import MADE_AT


@pytest.fixture
def on_server(servers: LedgerServers, tmp_path: Path, clock: StillClock) -> Iterator[Ledger]:
    """A ledger on a server."""
    with open_ledger(servers.emptied(), tmp_path / "ledger.db", clock) as opened:
        yield opened


def append(ledger: Ledger, number: int) -> None:
    """One interval of work."""
    ledger.work.append("shop", MADE_AT + timedelta(seconds=60 * number), 60.0, DatabaseDemand(transactions=number))


def numbers(ledger: Ledger) -> list[float]:
    """What the server has, in its order."""
    return [row.demand.transactions for row in ledger.work.since("shop", MADE_AT)]


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


class TestOnServer:
    """Over a real one."""

    pytestmark = ON_SERVER

    @pytest.mark.parametrize("after_commit", [False, True])
    def test_a_row_is_stored_once(self, on_server: Ledger, monkeypatch: pytest.MonkeyPatch, after_commit: bool) -> None:
        """Whether the connection broke before the commit or after it, and in the order in which rows came."""
        append(on_server, 1)
        with broken(on_server, monkeypatch, after_commit=after_commit):
            append(on_server, 2)
            append(on_server, 3)
        assert on_server.samples.waiting("shop") == 2
        append(on_server, 4)
        assert numbers(on_server) == [1.0, 2.0, 3.0, 4.0]
        assert (on_server.samples.waiting("shop"), on_server.samples.waiting("other")) == (0, 0)

    def test_what_waits_survives_a_restart(
        self, on_server: Ledger, servers: LedgerServers, tmp_path: Path, clock: StillClock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """The next process of the machine hands it over, in a file that its user alone may read."""
        with broken(on_server, monkeypatch, after_commit=False):
            append(on_server, 1)
        on_server.close()
        (spool,) = tmp_path.glob("*.spool")
        assert spool.stat().st_mode & 0o777 == 0o600
        place: LedgerServer = servers.place("ledger_of_tests")
        with open_ledger(place, tmp_path / "ledger.db", clock) as again:
            append(again, 2)
            assert numbers(again) == [1.0, 2.0]


def test_the_oldest_give_way(tmp_path: Path) -> None:
    """A spool takes no more than its bytes, and counts what it dropped."""
    spool = Spool(tmp_path / "spool", most_bytes=20_000)
    for number in range(600):
        spool.add("work", {"database": "shop", "body": b"x" * 50, "ended_at": MADE_AT + timedelta(seconds=number)})
    kept = spool.oldest()
    assert kept[-1].number == 600
    assert kept[0].number == spool.dropped + 1 > 100
    assert spool.waiting() == {"shop": 600 - spool.dropped}
    assert kept[-1].values["body"] == b"x" * 50
    spool.close()
