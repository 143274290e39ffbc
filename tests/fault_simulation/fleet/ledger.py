"""The shared ledger: a database on a real PostgreSQL, restarted, failed over to an older copy, full, crowded."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import psycopg
from psycopg import sql

from agent.config.models import LedgerServer
from agent.ledger.errors import LedgerUnreachable
from agent.ledger.server.roles import grants_script
from agent.ledger.store.schema import metadata
from tests.fault_simulation.disk import Cursor
from tests.labs.postgresql import strategy_of_copies
from tests.ledger.servers import AGENT, TEMPLATE, LedgerServers, running_servers
from tests.virtual_clock import VirtualClock

EMPTY, NAME, COPY = "fleet_empty", "fleet", "fleet_copy"
SCHEMA = "hotplace"
# Of the server's own transaction, so that what went before in it is rolled back as on a real full disk.
_DISK = "CREATE OR REPLACE FUNCTION hotplace.on_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {} END $$"
_ROOM = "RETURN NULL;"
_NO_ROOM = "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';"
_ON_EACH = (
    "CREATE TRIGGER on_disk BEFORE INSERT OR UPDATE ON hotplace.{} "
    "FOR EACH STATEMENT EXECUTE FUNCTION hotplace.on_disk()"
)
_END = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
_JSON = ("json_extract(facts, '$.verdict')", "(facts::json ->> 'verdict')")


@cache
def servers() -> LedgerServers:
    """The server of this process, with an empty ledger to copy; it goes with the process."""
    stack = ExitStack()
    atexit.register(stack.close)
    found = stack.enter_context(running_servers())
    with found.session() as dba:
        _copy(dba, TEMPLATE, EMPTY)
    with found.session(EMPTY) as dba:
        dba.execute(grants_script(SCHEMA, {}).encode())
        dba.execute(_DISK.format(_ROOM).encode())
        for name in metadata.tables:
            dba.execute(_ON_EACH.format(name).encode())
    return found


def _copy(dba: psycopg.Connection, of: str, to: str) -> None:
    names = sql.Identifier(to), sql.Identifier(of)
    dba.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {} {}").format(*names, strategy_of_copies(dba)))


def _drop(dba: psycopg.Connection, name: str) -> None:
    dba.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


@dataclass(slots=True)
class SharedLedger:
    """The ledger of one run, which begins empty."""

    clock: VirtualClock
    lease_seconds: float
    skew: float  # seconds that its clock is ahead
    away_until: float = 0.0  # on the monotonic clock
    fell_back: list[float] = field(default_factory=list)  # when it failed over
    before_failover: Callable[[], None] = lambda: None  # while both are there
    after_failover: Callable[[], None] = lambda: None
    _servers: LedgerServers = field(default_factory=servers)
    _dba: psycopg.Connection | None = None
    _rows: psycopg.Connection | None = None

    def __post_init__(self) -> None:
        for name in (COPY, NAME):
            _drop(self.dba, name)
        _copy(self.dba, EMPTY, NAME)

    @property
    def place(self) -> LedgerServer:
        """Where agents and people find it."""
        found = self._servers.place(NAME)
        return found.model_copy(update={"user": AGENT, "lease_seconds": self.lease_seconds})

    @property
    def configuration(self) -> str:
        """The same as the configuration says it."""
        place = self.place
        where = f"host: {place.host}, dbname: {place.dbname}, user: {place.user}, lease: {self.lease_seconds:.0f}s"
        return f"postgresql: {{{where}}}, anchors: ledger.db.anchors"

    def now(self) -> datetime:
        """The clock of its server."""
        return self.clock.now() + timedelta(seconds=self.skew)

    @property
    def dba(self) -> psycopg.Connection:
        """A session of an administrator."""
        if self._dba is None or self._dba.closed:
            self._dba = self._servers.session()
        return self._dba

    def rows(self) -> OracleRows:
        """What an oracle reads, whoever else cannot reach the server."""
        if self._rows is None or self._rows.closed:
            self._rows = self._servers.session(NAME)
            self._rows.execute("SET search_path = hotplace")
        return OracleRows(self._rows)

    def require_reachable(self) -> None:
        """Refuse as a server does that is down.

        Raises:
            LedgerUnreachable: it is down just now.
        """
        if self.clock.monotonic() < self.away_until:
            raise LedgerUnreachable("the ledger does not answer: Connection refused", advice="Wait.")

    # -- what becomes of it ----------------------------------------------------------------------------------------

    def restart(self, seconds: float) -> None:
        """Killed, and there again after so many seconds: what was not synchronised is gone."""
        self.close()
        self._servers.server.stop("immediate")
        self._servers.server.start()
        self.away_until = self.clock.monotonic() + seconds

    def copy(self) -> None:
        """What the standby has: from now on it lacks all."""
        self._end_sessions()
        _drop(self.dba, COPY)
        _copy(self.dba, NAME, COPY)

    def fail_over(self, seconds: float) -> None:
        """The standby takes its place, after so many seconds."""
        self.before_failover()
        self._end_sessions()
        _drop(self.dba, NAME)
        self.dba.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(COPY), sql.Identifier(NAME)))
        self.away_until = self.clock.monotonic() + seconds
        self.fell_back.append(self.clock.monotonic())
        self.after_failover()

    def set_room(self, *, is_left: bool) -> None:
        """Whether its disk has room."""
        with self._servers.session(NAME) as session:
            session.execute(_DISK.format(_ROOM if is_left else _NO_ROOM).encode())

    def set_connections(self, *, are_left: bool) -> None:
        """Whether anybody gets a new connection; without one those that were there are gone too."""
        self.dba.execute(f"ALTER ROLE {AGENT} CONNECTION LIMIT {-1 if are_left else 0}".encode())
        if not are_left:
            self._end_sessions()

    def heal(self) -> None:
        """Nothing is wrong with it any more."""
        self.away_until = 0.0
        self.set_room(is_left=True)
        self.set_connections(are_left=True)

    def close(self) -> None:
        """End the sessions of administrators."""
        for session in (self._dba, self._rows):
            if session is not None:
                session.close()
        self._dba = self._rows = None

    def remove(self) -> None:
        """Drop it."""
        self.set_connections(are_left=True)
        for name in (COPY, NAME):
            _drop(self.dba, name)
        self.close()

    def _end_sessions(self) -> None:
        if self._rows is not None:
            self._rows.close()
            self._rows = None
        self.dba.execute(_END.encode(), [NAME])


class Row(dict[str, Any]):
    """Columns by name and by number, as SQLite's rows have them."""

    def __getitem__(self, key: str | int) -> Any:  # whatever the column holds
        return list(self.values())[key] if isinstance(key, int) else super().__getitem__(key)


@dataclass(frozen=True, slots=True)
class OracleRows:
    """Reads a ledger on PostgreSQL with the SQL of one in a file."""

    _session: psycopg.Connection

    def execute(self, sql: str, values: Sequence[object] = (), /) -> Cursor:
        """Ask."""
        text = sql.replace(*_JSON).replace("instr(", "strpos(").replace("%", "%%").replace("?", "%s")
        return self._session.cursor(row_factory=_row_factory).execute(text.encode(), values)

    def close(self) -> None:
        """Nothing: the session is kept."""


def _row_factory(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], Row]:
    names = [column.name for column in cursor.description or ()]
    return lambda values: Row(zip(names, values, strict=True))
