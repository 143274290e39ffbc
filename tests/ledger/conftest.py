"""A ledger in a folder of its own, and a clock that stands still until told."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.ledger import Ledger
from tests.ledger.clock import StillClock
from tests.unit.samples import a_move, a_proposal

DIGITS = 12


Tamper = Callable[..., int]


@pytest.fixture
def clock() -> StillClock:
    """Stands at the moment the sample proposals were made."""
    return StillClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the ledger of this test is."""
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path, clock: StillClock) -> Iterator[Ledger]:
    """A new, open ledger."""
    with Ledger.open(path, clock, actor="test") as opened:
        yield opened


@pytest.fixture
def tamper(path: Path) -> Tamper:
    """Runs SQL on the file behind the ledger's back; returns how many rows it changed."""

    def run(sql: str, *values: object) -> int:
        with closing(sqlite3.connect(path)) as connection, connection:
            return connection.execute(sql, values).rowcount

    return run


def stored(ledger: Ledger, moves: int = 2) -> int:
    """Store a proposal of that many moves."""
    return ledger.proposals.store(a_proposal(*(a_move(n, key=f"public.t{n}") for n in range(1, moves + 1))))


def approved(ledger: Ledger, moves: int = 2) -> int:
    """Store a proposal and approve it."""
    number = stored(ledger, moves)
    digest = ledger.proposals.row(number).digest[:DIGITS]
    ledger.proposals.approve(number, who="anna", origin="terminal", digest=digest)
    return number
