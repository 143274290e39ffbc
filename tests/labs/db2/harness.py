"""The contract's harness over an emulated Db2: once moving table by table, once table space by table space."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from agent.model.clock import SystemClock
from agent.studies.prove.script import Script, script_of
from connectors.kit.contract import Connector, Mover, StatementFailed
from connectors.kit.proving import ProofSession, Scratch
from connectors.kit.registry import find_engine
from connectors.kit.settings import SecretSource
from connectors.model.moves import Route, Step
from tests.contract.asking import route_to
from tests.contract.harness import Ability, EngineHarness, PlayTable
from tests.labs.db2 import BY_TABLE_SPACE
from tests.labs.db2.client import Db2, running_db2, wait_until
from tests.labs.db2.server import ADMIN, FAST, LOOKER, SLOW, TS_FAST, TS_SLOW
from tests.labs.db2.text import DATABASE
from tests.labs.silence import Address, SilentWay

SCHEMA = "APP"
SCRATCH = "SCRATCH"
QUICK_CASES = frozenset({"clustered", "large_objects"})  # `python -m tests.prove db2` carries out all
PAGES, LOB_PAGES = 2000, 64
WRONG_PASSWORD = "wrong, and s3cret"
EXTENTS_A_SECOND = 0.5  # of the 72 of a play table: a rebalance that is to be held is caught however slow the machine
HELD_SECONDS = 60.0  # how long a phase takes that is to be caught, unless it is let go
_ORDINARY = re.compile(r"[A-Z_@#$][A-Z0-9_@#$]*")
_NUMBERS = count(1)


def written(name: str) -> str:
    """A name as keys have it: quoted unless it is an ordinary identifier."""
    return name if _ORDINARY.fullmatch(name) else '"' + name.replace('"', '""') + '"'


# When QueryTimeout expires over a connection that gives no answer, a thread of IBM's driver closes its socket while the
# thread that waits is about to read it. If another thread opens a descriptor in between, it gets that number, and the
# first reads there, without a limit: README.md, "Seen of the driver". One thread alone cannot meet it.
ALONE = {
    Ability.SILENCE: "several threads in IBM's driver may read each other's sockets after a time-out; tests/db2 has one"
}


class TablesHarness:
    """Tables move by themselves, from one storage group to another, where they land in a table space of it."""

    refusals: tuple[type[Exception], ...] = (StatementFailed,)
    secret = WRONG_PASSWORD
    source_space, target_space = SLOW, FAST
    move_by = "both"
    cannot: Mapping[Ability, str] = ALONE

    def __init__(self, name: str, server: Db2, folder: Path) -> None:
        self.name = name
        self.clock = SystemClock()
        self._server = server
        self._folder = folder

    def settings(self, user: str = ADMIN.name, password: str = ADMIN.password, **other: Any) -> Any:
        """Connection settings, with what a test changes."""
        place = self._folder / f"password-{next(_NUMBERS)}"
        place.write_text(password)
        usual = {
            "host": "127.0.0.1", "port": self._server.port, "dbname": DATABASE, "user": user,
            "password": SecretSource(file=place), "authentication": "SERVER", "move_by": self.move_by,
            "landing": {SLOW: TS_SLOW, FAST: TS_FAST},
            "lock_timeout": 1.0, "poll_every": 0.05, "rebalance_begins_within": 1.0, "connect_timeout": 5.0,
        }  # fmt: skip
        return find_engine("db2").settings(**{**usual, **other})

    def _connector(self, *login: str) -> Connector:
        return find_engine("db2").connect(self.settings(*login), self.clock)

    def connect(self) -> Connector:
        """As an administrator."""
        return self._connector()

    @property
    def server_address(self) -> Address:
        """Its port."""
        return "127.0.0.1", self._server.port

    def connect_through(self, way: SilentWay) -> Connector:
        """As an administrator."""
        settings = self.settings(port=way.port, connect_timeout=1.0, query_timeout=1.0, move_timeout=1.0)
        return find_engine("db2").connect(settings, self.clock)

    def refused_connect(self) -> Connector:
        """With another password than the server knows."""
        connector = self._connector(ADMIN.name, self.secret)
        connector.identify()
        return connector

    def restricted_connect(self) -> Connector:
        """May execute the functions that read, and nothing else."""
        return self._connector(LOOKER.name, LOOKER.password)

    def create(self, name: str, *, lob: bool = False) -> PlayTable:
        """8 MB with a unique index, and some LOBs."""
        return self._create(name, TS_SLOW, lob)

    def _create(self, name: str, space: str, lob: bool) -> PlayTable:
        index = f"I{next(_NUMBERS)}"
        self._server.lab.create_table(SCHEMA, name, index, space, PAGES, LOB_PAGES if lob else 0)
        key = f"{SCHEMA}.{written(name)}"
        return PlayTable(name=name, key=key, index_key=f"index {SCHEMA}.{index}", lob_key=f"{key} lob" if lob else None)

    @contextmanager
    def scratch(self) -> Iterator[tuple[Script, ProofSession]]:
        """A schema of the administrator's."""
        proof = find_engine("db2").proof
        assert proof is not None
        self._server.lab.create_schema(SCRATCH, ADMIN.authid)
        session = proof.open_session(self.settings(move_by="table", landing={}), self.clock)
        whole = script_of(proof, Scratch(schema=SCRATCH, slow=TS_SLOW, fast=TS_FAST))
        script = replace(whole, cases=tuple(case for case in whole.cases if case.name in QUICK_CASES))
        try:
            yield script, session
        finally:
            session.close()
            self._server.lab.drop_schema(SCRATCH)

    def drop(self, table: PlayTable) -> None:
        """With its index."""
        self._server.lab.drop_table(SCHEMA, table.name)

    def read_randomly(self, table: PlayTable, reads: int) -> None:
        """Look-ups by the index."""
        self._server.lab.read_randomly(SCHEMA, table.name, reads)

    def scan(self, table: PlayTable) -> None:
        """In order."""
        self._server.lab.scan(SCHEMA, table.name)

    def commit(self, transactions: int) -> None:
        """Of one session."""
        self._server.lab.commit(transactions)

    def spill(self) -> None:
        """4 MB into TEMPSPACE1."""
        self._server.lab.spill(1000)

    def reset_counters(self) -> None:
        """Deactivate and activate the database."""
        self._server.lab.restart()

    @contextmanager
    def hold_lock(self, table: PlayTable) -> Iterator[None]:
        """Nobody gets an exclusive lock of it inside."""
        self._server.lab.lock(SCHEMA, table.name, True)
        try:
            yield
        finally:
            self._server.lab.lock(SCHEMA, table.name, False)

    @contextmanager
    def target_full(self) -> Iterator[None]:
        """Something else fills the file system of the fast storage group."""
        self._server.lab.fill(FAST, True)
        try:
            yield
        finally:
            self._server.lab.fill(FAST, False)

    def execute_interrupted(self, mover: Mover, step: Step) -> None:
        """While a phase takes its time."""
        self._disturbed(mover, step, lambda _: mover.interrupt())

    def execute_broken(self, mover: Mover, step: Step) -> None:
        """Cut its connection while a phase takes its time."""
        self._disturbed(mover, step, self._server.lab.cut)

    def _disturbed(self, mover: Mover, step: Step, disturb: Callable[[int], None]) -> None:
        def disturb_and_let_go() -> None:
            try:
                disturb(self._caught())
            finally:
                self._server.lab.behave(phase_seconds=0.0)

        with self._slowly():
            disturber = threading.Thread(target=disturb_and_let_go)
            disturber.start()
            try:
                mover.execute(step)
            finally:
                disturber.join()

    @contextmanager
    def _slowly(self) -> Iterator[None]:
        before = self._server.lab.behave(phase_seconds=HELD_SECONDS)
        try:
            yield
        finally:
            self._server.lab.behave(**before)

    def _caught(self) -> int:
        """Handle of the connection that executes the step."""
        wait_until(lambda: bool(self._server.lab.running()), "the step runs")
        return self._server.lab.running()[0][0]

    def write_while_reading(self, connector: Any, table: PlayTable) -> None:
        """Over the connector's own session."""
        connector._session.select(f'ALTER TABLESPACE "{TS_SLOW}" USING STOGROUP "{FAST}"', doing="writing")


class SpacesHarness(TablesHarness):
    """Moves go table space by table space, from one storage group to another; each table has one of its own."""

    move_by = "table_space"
    cannot: Mapping[Ability, str] = {**BY_TABLE_SPACE, **ALONE}

    def create(self, name: str, *, lob: bool = False) -> PlayTable:
        """In a table space of the same name."""
        self._server.lab.create_space(name, SLOW)
        return self._create(name, name, lob)

    def drop(self, table: PlayTable) -> None:
        """With its table space."""
        super().drop(table)
        self._server.lab.drop_space(table.name)

    def pausable_route(self, connector: Connector, table: PlayTable) -> Route:
        """Its table space to the fast storage group."""
        return route_to(connector, table.key, FAST)

    def execute_paused(self, mover: Mover, step: Step) -> None:
        """While its rebalance takes seconds; it goes on as fast as ever."""
        lab = self._server.lab
        before = lab.behave(extents_per_second=EXTENTS_A_SECOND)
        holder = threading.Thread(target=lambda: wait_until(mover.pause, "the rebalance is held"))
        holder.start()
        try:
            mover.execute(step)
        finally:
            holder.join()
            lab.behave(**before)


@contextmanager
def _running(kind: type[TablesHarness], version: str) -> Iterator[EngineHarness]:
    with ExitStack() as stack:
        server = stack.enter_context(running_db2(version))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hotplace-db2-passwords-"))
        yield kind(f"db2 {version} emulated server, {kind.move_by}", server, Path(folder))


def running_tables(version: str) -> AbstractContextManager[EngineHarness]:
    """Table by table."""
    return _running(TablesHarness, version)


def running_spaces(version: str) -> AbstractContextManager[EngineHarness]:
    """Table space by table space."""
    return _running(SpacesHarness, version)
