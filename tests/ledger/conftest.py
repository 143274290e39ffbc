"""A ledger of each kind, in a folder or database of its own, and a clock that stands still until it is set.

A test that asks for ``ledger`` or ``place`` runs on a file and on a server; one that asks for ``path`` is about files.
"""

from __future__ import annotations

import inspect
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.config.models import LedgerServer
from agent.ledger.chain.links import CREATED
from agent.ledger.chain.signed import PLAIN, ApprovalRule
from agent.ledger.file.database import FileDatabase
from agent.ledger.ledger import Ledger
from agent.ledger.store.schema import HEAD
from agent.model.signatures import Signers
from tests.conftest import MAJORS, NO_SERVER
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.servers import LedgerServers, running_servers
from tests.unit.samples import a_move, a_proposal

DIGITS = 12


Tamper = Callable[..., int]
Two = tuple[Person, Person]
FILE, SERVER = "file", "server"
ON_FILES = {"test_opening", "test_upkeep", "test_year", "test_codec", "test_crash"}  # modules about SQLite's file
ON_SERVER = [
    pytest.mark.postgresql,
    pytest.mark.xdist_group("ledger on a server"),
    pytest.mark.skipif(not MAJORS, reason=NO_SERVER),
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what needs a ledger, and no file of it, on both kinds."""
    if "place" not in metafunc.fixturenames:
        return
    of_files = metafunc.module.__name__.rpartition(".")[2] in ON_FILES
    kinds: list[object] = [FILE]
    if not of_files and "path" not in inspect.signature(metafunc.function).parameters:
        kinds.append(pytest.param(SERVER, marks=ON_SERVER))
    metafunc.parametrize("place", kinds, indirect=True)


@pytest.fixture
def clock() -> StillClock:
    """Stands at the moment the sample proposals were made."""
    return StillClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the ledger of this test is."""
    return tmp_path / "ledger.db"


@pytest.fixture(scope="session")
def servers() -> Iterator[LedgerServers]:
    """One server for all ledgers on servers."""
    with running_servers() as running:
        yield running


@pytest.fixture
def place(request: pytest.FixtureRequest, path: Path) -> Path | LedgerServer:
    """Where the ledger of this test is: a file, or a server that has its tables already."""
    if request.param == FILE:
        return path
    servers: LedgerServers = request.getfixturevalue("servers")
    return servers.emptied()


@pytest.fixture
def ledger(place: Path | LedgerServer, path: Path, clock: StillClock) -> Iterator[Ledger]:
    """A new, open ledger."""
    with open_ledger(place, path, clock) as opened:
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
def tamper(place: Path | LedgerServer, servers_session: Callable[[LedgerServer], Tamper]) -> Tamper:
    """Runs SQL on the ledger behind its back; returns how many rows it changed."""
    if isinstance(place, LedgerServer):
        return servers_session(place)

    def run(sql: str, *values: object) -> int:
        with closing(sqlite3.connect(place)) as connection, connection:
            return connection.execute(sql, values).rowcount

    return run


@pytest.fixture
def servers_session(request: pytest.FixtureRequest) -> Callable[[LedgerServer], Tamper]:
    """The same on a server, by an administrator."""

    def tamper_with(place: LedgerServer) -> Tamper:
        servers: LedgerServers = request.getfixturevalue("servers")

        def run(sql: str, *values: object) -> int:
            with servers.session(place.dbname) as dba:
                dba.execute(f"SET search_path = {place.schema_name}; SET session_replication_role = replica")
                text = re.sub(r"(?<== )x'(?=\d)", r"'\\x", sql.replace("%", "%%").replace("?", "%s"))
                return dba.execute(text.encode(), values).rowcount

        return run

    return tamper_with


def open_ledger(place: Path | LedgerServer, path: Path, clock: StillClock, rule: ApprovalRule = PLAIN) -> Ledger:
    """Open the ledger of a test; the first row of its chain says that it was made, as in any new one."""
    ledger = Ledger.open(place, clock, actor="test", anchors=path.with_name("ledger.db.anchors"), rule=rule)
    if not ledger.audit.rows(1):  # the tables were made before the test
        ledger.audit.record(CREATED, "hotplace", was="", now=HEAD)
    return ledger


def damage(ledger: Ledger, sql: str) -> int:
    """Run SQL on the samples of this machine behind the ledger's back; how many rows it changed."""
    place = ledger.samples.written()
    assert isinstance(place, FileDatabase)
    with closing(sqlite3.connect(place.path)) as connection, connection:
        return connection.execute(sql).rowcount


def file_under(ledger: Ledger) -> FileDatabase:
    """The SQLite file under a ledger."""
    assert isinstance(ledger._database, FileDatabase)
    return ledger._database


def note(ledger: Ledger, subject: str, text: str = "") -> None:
    """A row of the chain that changes nothing else."""
    ledger.audit.record("space.opened", subject, who="test", reason=text)


def stored(ledger: Ledger, moves: int = 2) -> int:
    """Store a proposal of that many moves."""
    return ledger.proposals.store(a_proposal(*(a_move(n, key=f"public.t{n}") for n in range(1, moves + 1))))


def approved(ledger: Ledger, moves: int = 2) -> int:
    """Store a proposal and approve it."""
    number = stored(ledger, moves)
    digest = ledger.proposals.row(number).digest[:DIGITS]
    ledger.proposals.approve(number, who="anna", origin="terminal", digest=digest)
    return number
