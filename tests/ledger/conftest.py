"""A ledger in a folder of its own, and a clock that stands still until told."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.keys import Signers
from agent.ledger import Ledger
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.unit.samples import a_move, a_proposal

DIGITS = 12


Tamper = Callable[..., int]
Two = tuple[Person, Person]


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


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Two:
    """Anna and Bert, both allowed to sign."""
    folder = tmp_path_factory.mktemp("people")
    return Person.new(folder, "anna"), Person.new(folder, "bert")


@pytest.fixture
def signers(tmp_path: Path, people: Two) -> Signers:
    """A file that allows both."""
    path = tmp_path / "allowed_signers"
    path.write_text("".join(person.line for person in people))
    return Signers(path)


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
