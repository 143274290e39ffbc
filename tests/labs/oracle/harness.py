"""The contract's harness over the emulated Oracle server, which speaks Oracle's wire protocol to the real driver."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import oracledb

from agent.model.clock import SystemClock
from agent.studies.prove.script import Script, script_of
from connectors.kit.contract import Connector, Mover, StatementFailed
from connectors.kit.proving import ProofSession, Scratch
from connectors.kit.settings import SecretSource
from connectors.model.moves import Step
from connectors.oracle.connector import OracleConnector
from connectors.oracle.driver import load_driver
from connectors.oracle.engine import ENGINE
from connectors.oracle.settings import OracleSettings
from tests.contract.harness import Ability, EngineHarness, HarnessFactory, PlayTable
from tests.labs.oracle.database import EmulatedDatabase
from tests.labs.oracle.model import UNLIMITED, Quirks, Table, User
from tests.labs.silence import Address, SilentWay
from tests.labs.tns.server import TnsServer, serving

OWNER, AGENT, LOOKER = "APP", "HOTPLACE", "LOOKER"
PASSWORD, WRONG_PASSWORD = "right, and secret", "wrong, and s3cret"
TABLE_BYTES, INDEX_BYTES, LOB_BYTES = 16 << 20, 2 << 20, 8 << 20
SLOW_SECONDS_PER_GB = 2000.0  # a copy of a play table then lasts half a minute
WAIT_SECONDS = 20.0
LIMITS: dict[str, Any] = dict.fromkeys(
    ("connect_timeout", "statement_timeout", "move_timeout"), 2.0
)  # of who meets silence
_NUMBERS = count(1)


def furnished(version: tuple[int, ...] = (19, 22, 0, 0, 0), quirks: Quirks | None = None) -> EmulatedDatabase:
    """A database with two tablespaces, an owner of tables, an agent and one who may only look."""
    database = EmulatedDatabase(version, quirks or Quirks())
    database.add_tablespace("SLOW", "/hdd/oradata/slow01.dbf", 1 << 30, max_bytes=2 << 30)
    database.add_tablespace("FAST", "/ssd/oradata/fast01.dbf", 256 << 20, max_bytes=512 << 20)
    database.add_user(OWNER, PASSWORD, quotas={"SLOW": UNLIMITED, "FAST": UNLIMITED})
    rights = {"SELECT ANY DICTIONARY", "ALTER ANY TABLE", "ALTER ANY INDEX"}
    database.add_user(AGENT, PASSWORD, privileges=rights).grants.add(("EXECUTE", "SYS.DBMS_LOCK"))
    looker = database.add_user(LOOKER, PASSWORD, privileges={"SELECT ANY DICTIONARY"})
    looker.grants.add(("EXECUTE", "SYS.DBMS_LOCK"))
    return database


def plain(name: str) -> str:
    """A name as Oracle writes it: bare when it is upper-case letters, digits and ``_ $ #``, else in double quotes."""
    bare = name[:1].isascii() and name[:1].isalpha() and all(c.isascii() and (c.isalnum() or c in "_$#") for c in name)
    return name if bare and name == name.upper() else f'"{name}"'


class OracleHarness:
    """One emulated server as the contract wants it."""

    refusals: tuple[type[Exception], ...] = (StatementFailed,)
    secret = WRONG_PASSWORD
    source_space = "SLOW"
    target_space = "FAST"

    def __init__(self, name: str, database: EmulatedDatabase, server: TnsServer, folder: Path) -> None:
        self.name = name
        self.clock = SystemClock()
        self.database = database
        self.server = server
        self._folder = folder
        self.cannot: Mapping[Ability, str] = {} if database.version >= (12, 2) else SHORT_NAMES

    def settings(self, user: str = AGENT, password: str = PASSWORD, **other: Any) -> OracleSettings:
        """Settings of a user, with what a test changes."""
        place = self._folder / f"password of {user} {password == PASSWORD}"
        place.write_text(password)
        usual = {"host": "127.0.0.1", "port": self.server.port, "service": "orclpdb1", "user": user}
        waits = {"lock_timeout": 1.0, "online_lock_timeout": 2.0, "statement_timeout": 20.0}
        return OracleSettings(**{**usual, **waits, "password": SecretSource(file=place), **other})

    def connector(self, user: str = AGENT, password: str = PASSWORD, **other: Any) -> OracleConnector:
        """A connector over those settings."""
        settings = self.settings(user, password, **other)
        return OracleConnector(settings, self.clock, load_driver(settings))

    @contextmanager
    def session(self, user: str = OWNER) -> Iterator[oracledb.Connection]:
        """A session of the real driver, beside the connector."""
        dsn = f"127.0.0.1:{self.server.port}/orclpdb1"
        with oracledb.connect(user=user, password=PASSWORD, dsn=dsn) as session:
            yield session

    def connect(self) -> Connector:
        """The agent's."""
        return self.connector()

    @property
    def server_address(self) -> Address:
        """Its port."""
        return "127.0.0.1", self.server.port

    def connect_through(self, way: SilentWay) -> Connector:
        """The agent's."""
        return self.connector(port=way.port, **LIMITS)

    def refused_connect(self) -> Connector:
        """Log in with another password."""
        connector = self.connector(password=self.secret)
        connector.identify()
        return connector

    def restricted_connect(self) -> Connector:
        """A login that may read the dictionary and owns nothing."""
        return self.connector(user=LOOKER)

    def create(self, name: str, *, lob: bool = False) -> PlayTable:
        """Oracle has no name with a double quote in it; two single ones stand for it."""
        own = name.upper() if name.isidentifier() else name.replace('"', "''")
        index = f"I{next(_NUMBERS)}"
        table = self.database.add_table(OWNER, own, "SLOW", TABLE_BYTES)
        self.database.add_index(table, index, "SLOW", INDEX_BYTES, unique=True)
        if lob:
            self.database.add_lob(table, "DOC", "SLOW", LOB_BYTES)
        key = f"{OWNER}.{plain(own)}"
        return PlayTable(
            name=own, key=key, index_key=f"{OWNER}.{index} INDEX", lob_key=f"{key} LOB (DOC)" if lob else None
        )

    @contextmanager
    def scratch(self) -> Iterator[tuple[Script, ProofSession]]:
        """A schema of its own, over a session of its owner's."""
        name, proof = f"SCRATCH{next(_NUMBERS)}", ENGINE.proof
        assert proof is not None
        self.add_owner(name)
        session = proof.open_session(self.settings(name), self.clock)
        try:
            yield script_of(proof, Scratch(schema=name, slow=self.source_space, fast=self.target_space)), session
        finally:
            session.close()
            for owner, table in list(self.database.tables):
                if owner == name:
                    self.database.drop_table(owner, table)

    def add_owner(self, name: str) -> User:
        """Who owns a schema, may make tables in it, move them, and look."""
        rights = {"CREATE TABLE", "SELECT ANY DICTIONARY"}
        quotas = {self.source_space: UNLIMITED, self.target_space: UNLIMITED}
        user = self.database.add_user(name, PASSWORD, privileges=rights, quotas=quotas)
        user.grants |= {("EXECUTE", "SYS.DBMS_LOCK"), ("EXECUTE", "HOTPLACE_FLUSH.FLUSH_CACHE")}
        return user

    def drop(self, table: PlayTable) -> None:
        """With PURGE; somebody's move of it is waited for."""
        if (OWNER, table.name) in self.database.tables:
            self.database.drop_table(OWNER, table.name)

    def table(self, table: PlayTable) -> Table:
        """The model behind it."""
        return self.database.table(OWNER, table.name)

    def read_randomly(self, table: PlayTable, reads: int) -> None:
        """Single blocks of the table; those of the index are in the buffer cache."""
        own = self.table(table)
        self.database.read_randomly(own.segments[0], reads)
        self.database.read_cached(own.indexes[0].segments[0], 2 * reads)

    def scan(self, table: PlayTable) -> None:
        """In multiblock reads through the buffer cache."""
        self.database.scan(self.table(table).segments[0])

    def commit(self, transactions: int) -> None:
        """Of one session."""
        self.database.commit_transactions(transactions)

    def spill(self) -> None:
        """8 MB into the temporary tablespace."""
        self.database.sort(1024)

    def reset_counters(self) -> None:
        """An instance restart, as far as counters are concerned."""
        self.database.restart()

    @contextmanager
    def hold_lock(self, table: PlayTable) -> Iterator[None]:
        """An open transaction of the owner's."""
        with self.session() as session:
            session.cursor().execute(f'LOCK TABLE "{OWNER}"."{table.name}" IN ROW EXCLUSIVE MODE')
            yield
            session.rollback()

    @contextmanager
    def target_full(self) -> Iterator[None]:
        """Something the model does not know takes all the room."""
        space = self.database.tablespaces["FAST"]
        space.ballast = space.most_bytes - self.database.used_bytes("FAST")
        self.database.generation += 1
        try:
            yield
        finally:
            space.ballast = 0
            self.database.generation += 1

    def execute_interrupted(self, mover: Mover, step: Step) -> None:
        """Interrupt it while it copies."""
        self._execute_disturbed(mover, step, lambda _: mover.interrupt())

    def execute_broken(self, mover: Mover, step: Step) -> None:
        """Cut its connection while it copies, and end it on the server."""
        self._execute_disturbed(mover, step, self.kill)

    def kill(self, session_id: int) -> None:
        """As ALTER SYSTEM KILL SESSION ... IMMEDIATE."""
        connection = self.server.connection_of(session_id)
        connection.drop()
        session = connection.session
        assert session is not None
        session.cancel()

    def write_while_reading(self, connector: Connector, table: PlayTable) -> None:
        """Over the connector's own session."""
        assert isinstance(connector, OracleConnector)
        statement = f'ALTER TABLE "{OWNER}"."{table.name}" MOVE TABLESPACE FAST'
        connector._session.rows(statement, doing="writing")

    def _execute_disturbed(self, mover: Mover, step: Step, disturb: Callable[[int], None]) -> None:
        """Run the step so slowly that it can be caught, and disturb it once it copies."""
        self.database.long_operations.clear()
        self.database.seconds_per_gb = SLOW_SECONDS_PER_GB
        disturber = threading.Thread(target=self._when_copying, args=(disturb,))
        disturber.start()
        try:
            mover.execute(step)
        finally:
            disturber.join()
            self.database.seconds_per_gb = 0.0

    def _when_copying(self, disturb: Callable[[int], None]) -> None:
        until = time.monotonic() + WAIT_SECONDS
        while not self.database.long_operations:
            assert time.monotonic() < until, "the step never began to copy"
            time.sleep(0.01)
        disturb(self.database.long_operations[0].session_id)


class FileHarness(OracleHarness):
    """The same server with whole tablespaces moved by their data files: each play table has one of its own."""

    source_space = "/hdd/oradata"
    target_space = "/ssd/oradata"

    def __init__(self, name: str, database: EmulatedDatabase, server: TnsServer, folder: Path) -> None:
        super().__init__(name, database, server, folder)
        database.users[AGENT].privileges.add("ALTER DATABASE")
        self.cannot = {**self.cannot, **OF_FILES}

    def connect(self) -> Connector:
        """The agent's."""
        return self.connector(move_by="tablespace")

    def connect_through(self, way: SilentWay) -> Connector:
        """The agent's."""
        return self.connector(port=way.port, move_by="tablespace", **LIMITS)

    def restricted_connect(self) -> Connector:
        """A login that may read the dictionary, and may not alter the database."""
        return self.connector(user=LOOKER, move_by="tablespace")

    def refused_connect(self) -> Connector:
        """Log in with another password."""
        connector = self.connector(password=self.secret, move_by="tablespace")
        connector.identify()
        return connector

    def create(self, name: str, *, lob: bool = False) -> PlayTable:
        """A table in a tablespace of its own."""
        made = super().create(name, lob=lob)
        space = f"PLAY{next(_NUMBERS)}"
        self.database.add_tablespace(space, f"{self.source_space}/{space.lower()}.dbf", 64 << 20)
        for segment in self.table(made).everything():
            segment.tablespace = space
        return made

    def drop(self, table: PlayTable) -> None:
        """With its tablespace."""
        if (OWNER, table.name) in self.database.tables:
            space = self.table(table).segments[0].tablespace
            super().drop(table)
            self.database.drop_tablespace(space)


@contextmanager
def running_harness(
    name: str,
    version: tuple[int, ...] = (19, 22, 0, 0, 0),
    quirks: Quirks | None = None,
    kind: type[OracleHarness] = OracleHarness,
) -> Iterator[OracleHarness]:
    """A harness over an emulated server of its own; what the server did not understand fails the test."""
    database = furnished(version, quirks)
    with tempfile.TemporaryDirectory(prefix="hotplace-oracle-") as folder, serving(database) as server:
        yield kind(name, database, server, Path(folder))
        assert server.complaints == []


@contextmanager
def _contract(
    name: str, version: tuple[int, ...], quirks: Quirks, kind: type[OracleHarness] = OracleHarness
) -> Iterator[EngineHarness]:
    with running_harness(name, version, quirks, kind) as harness:
        yield harness


SHORT_NAMES: Mapping[Ability, str] = {Ability.WEIRD_NAMES: "this release has names of at most 30 bytes"}
NOT_HELD: Mapping[Ability, str] = {Ability.PAUSE: "a statement can be cancelled and not held"}
OF_FILES: Mapping[Ability, str] = {
    Ability.LOCK: "a data file is moved under everybody's feet: it waits for no lock",
    Ability.FULL: "no view tells the room of a folder",
    Ability.LOB: "a tablespace moves with everything in it, indexes and LOBs too",
    Ability.WEIRD_NAMES: "statements name files; what they may be called: tests/oracle/test_file_moves",
    Ability.CASES: "cases lie in a tablespace and move alone, and files are what moves here",
}
NEW, OLD = "oracle 19 (emulated server)", "oracle 12.1 SE2 RAC (emulated server)"
FILES = "oracle 19, whole tablespaces (emulated server)"
NEVER: Mapping[str, Mapping[Ability, str]] = {
    NEW: NOT_HELD,
    OLD: {**SHORT_NAMES, **NOT_HELD, Ability.CASES: "they have partitions and bitmap indexes, of Enterprise Edition"},
    FILES: {**NOT_HELD, **OF_FILES},
}


def contract_harnesses() -> dict[str, HarnessFactory]:
    """Enterprise Edition of 19c, by object and by tablespace, and Standard Edition of 12.1 on two instances."""
    return {
        NEW: lambda: _contract(NEW, (19, 22, 0, 0, 0), Quirks()),
        FILES: lambda: _contract(FILES, (19, 22, 0, 0, 0), Quirks(), FileHarness),
        OLD: lambda: _contract(OLD, (12, 1, 0, 2, 0), Quirks(edition="SE2", instances=2)),
    }
