"""The ledger's file: SQLite in WAL mode, one writer at a time, errors in our own words.

Two kinds of writing. What was decided or is about to be done (``durable``) is on the disk when the call returns
(``synchronous=FULL``): a statement must not be sent to an engine on the strength of an intent that a power cut can take
back. Samples (``durable=False``) use ``synchronous=NORMAL``: a power cut may take the last of them, never more, and
nothing else. Neither a crash nor a kill of the process loses anything that returned.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import Dialect, bindparam, delete, func, select
from sqlalchemy.dialects.sqlite import pysqlite

from agent.ledger.errors import LedgerCorrupt, LedgerError, WrongKind, corrupt, translate_error
from agent.ledger.file.damage import find_place, place_of_row
from agent.ledger.store.database import Database, Dropped, Reading, Sight, Transaction
from agent.ledger.store.elements import one_of
from agent.ledger.store.schema import Moment, history

# A prepared statement keeps the values that it was given last, whole proposals among them, until it is used again. With
# Python's 128 for each connection a daemon grew by 10 KiB a move; to prepare a statement again takes microseconds.
CACHED_STATEMENTS = 4
CACHE_KIB = 512  # of pages, for each of up to ten connections: what is read twice the system keeps too
JOURNAL_BYTES = 16 << 20  # of the -wal file, once what it held is in the ledger; it may grow further in between
INSTRUCTIONS_BETWEEN = 100  # of SQLite's virtual machine: how often a statement is asked whether to go on
DROPPED_AT_ONCE = 50  # rows of history
_PAST = (
    select(history.c.id, func.length(history.c.body).label("size"))
    .where(history.c.ended_at <= bindparam("before", type_=Moment))
    .limit(DROPPED_AT_ONCE)
)
_DROP = delete(history).where(one_of(history.c.id))


class FileDatabase(Database):
    """Short transactions on one ledger file. Safe to use from several threads."""

    # The driver raises the second where its error quotes what is no UTF-8.
    errors: ClassVar[tuple[type[Exception], ...]] = (sqlite3.Error, UnicodeDecodeError, WrongKind)
    dialect: ClassVar[Dialect] = pysqlite.dialect(dbapi=sqlite3)
    url: ClassVar[str] = "sqlite://"

    def __init__(self, path: Path, *, busy_seconds: float = 20.0) -> None:
        """Prepare; connects on first use.

        Args:
            path: absolute; the file exists (``opening.prepare_file``), SQLite never creates it here.
            busy_seconds: how long to wait for a lock before ``LedgerBusy``.
        """
        # No lease ends by itself: who acts is a matter of the engine's own lock on one machine.
        super().__init__(str(path), math.inf)
        self.path = path
        self._busy_seconds = busy_seconds

    def read(self) -> AbstractContextManager[Reading]:
        """One consistent snapshot; writers are not blocked."""
        return self._reading("BEGIN")

    def write(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """One transaction that holds the write lock from its start; commits at the end, rolls back on any error.

        Raises:
            LedgerBusy: another process kept the lock.
        """
        # IMMEDIATE: a transaction that begins by reading and then wants to write fails at once with SQLITE_BUSY if
        # another one has written meanwhile, whatever the timeout. The level is set before BEGIN, since SQLite does not
        # change it within a transaction.
        return self._writing(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}", "BEGIN IMMEDIATE")

    def write_apart(self) -> AbstractContextManager[Transaction]:
        """As ``write``: a file has one writer at a time."""
        return self.write()

    def latest_possible(self, reading: Reading, now: datetime) -> datetime:
        """What the clock of who asks says: all processes that use the file have it in common."""
        del reading
        return now

    def now(self, reading: Reading) -> datetime:
        """The machine's own clock, which all processes that use the file have in common."""
        del reading
        return datetime.now(UTC)

    def size_bytes(self) -> int:
        """The file, without its journal."""
        return self.path.stat().st_size

    def find_damage(self) -> str:
        """What is wrong with the file; "" where nothing was found."""
        damage = str(self.pragma("quick_check(1)"))
        return "" if damage == "ok" else damage

    def drop_history(self, now: datetime, kept_seconds: float, databases: Collection[str]) -> Dropped:
        """Drop rows that ended before then, of all databases of the file, some under one write lock."""
        del databases
        before, rows, total = now - timedelta(seconds=kept_seconds), 0, 0
        while True:
            with self.write(durable=False) as transaction:
                # Some rows under each lock: dropping a month of history at once would make a statement wait for its
                # intent.
                found = transaction.rows(_PAST, before=before)
                if found:
                    transaction.execute(_DROP, some=[row.id for row in found])
            rows, total = rows + len(found), total + sum(row.size for row in found)
            if len(found) < DROPPED_AT_ONCE:
                return Dropped(rows=rows, bytes=total)

    def sight(self, reading: Reading) -> Sight:
        """All: who may open the file sees it."""
        del reading
        return Sight.ALL

    def pragma(self, statement: str) -> Any:  # noqa: ANN401  # whatever SQLite answers
        """Run a PRAGMA outside any transaction and return its first value."""
        with self._driver() as driver:
            answer = driver.execute(f"PRAGMA {statement}").fetchone()
            return None if answer is None else answer[0]

    def run(
        self, statement: str, *, until: Callable[[], bool] | None = None, busy_seconds: float | None = None
    ) -> None:
        """Run a statement to its end that makes a transaction of its own, as VACUUM does.

        Args:
            statement: what to run.
            until: asked now and then; the statement is broken off and undone once it says so.
            busy_seconds: how long to wait for a lock, default as ever.

        Raises:
            OperationalError: it was broken off; sqlite3's.
        """
        with self._driver() as driver:
            driver.set_progress_handler(until, INSTRUCTIONS_BETWEEN)
            driver.execute(f"PRAGMA busy_timeout={_milliseconds(busy_seconds or self._busy_seconds)}")
            try:
                driver.executescript(statement)  # to its end, which execute() leaves out where no column comes back
            finally:
                driver.set_progress_handler(None, INSTRUCTIONS_BETWEEN)
                driver.execute(f"PRAGMA busy_timeout={_milliseconds(self._busy_seconds)}")

    @contextmanager
    def _driver(self) -> Iterator[sqlite3.Connection]:
        """The driver's connection with no transaction, for what SQLite does outside of one."""
        with self._reading() as reading, self.own_errors:
            yield reading.driver

    def cursor_of_many(self, driver: sqlite3.Connection) -> sqlite3.Cursor:
        """Any: SQLite computes each row when it is asked for."""
        return driver.cursor()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,  # we say BEGIN ourselves: sqlite3's own comes too late for a writer
            check_same_thread=False,  # a connection is handed to one thread at a time
            cached_statements=CACHED_STATEMENTS,
        )
        # SQLite checks foreign keys only where each connection asks for it.
        connection.execute("PRAGMA foreign_keys=ON")
        if not self.path.stat().st_size:  # of a new file only: to say it of another one waits for whoever writes
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute(f"PRAGMA journal_size_limit={JOURNAL_BYTES}")
        connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        return connection

    # -- errors --------------------------------------------------------------------------------------------------

    def translate(self, error: BaseException) -> LedgerError | None:
        """The ledger's own error for one that SQLite raised; None where SQLite does not say more than the original."""
        if isinstance(error, WrongKind):
            return self.corrupt(str(error), error.table, **error.key)
        return translate_error(self.path, error, find_place)

    def corrupt(self, detail: str, table: str = "", **key: object) -> LedgerCorrupt:
        """The error that says that something stored is damaged, with the page."""
        if not table:
            return corrupt(self.path, detail, find_place(self.path))
        row = f"row {key['id']} of {table}" if "id" in key else ""
        return corrupt(self.path, detail, ", ".join(filter(None, [place_of_row(self.path, table, key), row])))


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)
