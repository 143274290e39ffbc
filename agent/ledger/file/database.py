"""The connection to the ledger file: SQLite in WAL mode, one writer at a time, errors in our own words.

Two kinds of writing. What was decided or is about to be done (``durable``) is on the disk when the call returns
(``synchronous=FULL``): a statement must not be sent to an engine on the strength of an intent that a power cut can take
back. Samples (``durable=False``) use ``synchronous=NORMAL``: a power cut may take the last of them, never more, and
nothing else. Neither a crash nor a kill of the process loses anything that returned.

Reading goes through ``reading`` and loads no SQLAlchemy; writing goes through ``transaction``.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.ledger.errors import LedgerCorrupt, LedgerError, corrupt, translate_error
from agent.ledger.file.reading import Condition, Reading, Sight, translated_errors, where

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from agent.ledger.file.transaction import Transaction

# A prepared statement keeps the values that it was given last, whole proposals among them, until it is used again. With
# Python's 128 for each connection a daemon grew by 10 KiB a move; to prepare a statement again takes microseconds.
CACHED_STATEMENTS = 4
CACHE_KIB = 512  # of pages, for each of up to ten connections: what is read twice the system keeps too
JOURNAL_BYTES = 16 << 20  # of the -wal file, once what it held is in the ledger; it may grow further in between
INSTRUCTIONS_BETWEEN = 100  # of SQLite's virtual machine: how often a statement is asked whether to go on


class SqliteDialect:
    """SQLite, as the rooms write it."""

    def __init__(self, path: Path) -> None:
        """The path is for messages."""
        self._path = path

    def execute(self, driver: sqlite3.Connection, sql: str, values: list[object], *, in_pieces: bool) -> sqlite3.Cursor:
        """The cursor of a query; SQLite computes each row when it is asked for."""
        del in_pieces
        return driver.execute(sql, values)

    @property
    def errors(self) -> type[Exception]:
        """What SQLite's driver raises."""
        return sqlite3.Error

    def translate(self, error: BaseException) -> LedgerError | None:
        """The ledger's own error for one that SQLite raised."""
        return translate_error(self._path, error)

    def like_file_name(self, column: str, pattern: str) -> Condition:
        """Whether a column matches a pattern with ``*``, ``?`` and ``[...]``."""
        return where(f"{column} GLOB ?", pattern.replace("[!", "[^"))

    def sight(self, reading: Reading) -> Sight:
        """All: who may open the file sees it."""
        del reading
        return Sight.ALL

    def insert(self, driver: sqlite3.Connection, sql: str, values: list[object]) -> int:
        """The number that the row got."""
        number = driver.execute(sql, values).lastrowid
        assert number is not None, "one row was inserted"
        return number

    def execute_many(self, driver: sqlite3.Connection, sql: str, rows: Iterable[list[object]]) -> None:
        """One after the other."""
        driver.executemany(sql, rows)


class FileDatabase:
    """Short transactions on one ledger file. Safe to use from several threads."""

    def __init__(self, path: Path, *, busy_seconds: float = 20.0) -> None:
        """Prepare; connects on first use.

        Args:
            path: absolute; the file exists (``opening.prepare_file``), SQLite never creates it here.
            busy_seconds: how long to wait for a lock before ``LedgerBusy``.
        """
        self.path = path
        self.name = str(path)
        self.lease_seconds = math.inf  # who acts is a matter of the engine's own lock on one machine
        self._dialect = SqliteDialect(path)
        self._busy_seconds = busy_seconds
        self._free: list[sqlite3.Connection] = []  # to read with; what writes has a pool of its own

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """One consistent snapshot; writers are not blocked."""
        with self._connection() as driver, translated_errors(self._dialect):
            driver.execute("BEGIN")
            try:
                yield Reading(self._dialect, driver)
            finally:
                # Rolled back, not committed: there is nothing to commit, and a rollback also ends the snapshot where a
                # query has failed.
                driver.rollback()

    @contextmanager
    def read_by_core(self) -> Iterator[Connection]:
        """The same for statements of SQLAlchemy's Core."""
        from agent.ledger.file.transaction import begun

        with begun(self._engine, "BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Transaction]:
        """One transaction that holds the write lock from its start; commits at the end, rolls back on any error.

        Raises:
            LedgerBusy: another process kept the lock.
        """
        from agent.ledger.file.transaction import writing

        # IMMEDIATE: a transaction that begins by reading and then wants to write fails at once with SQLITE_BUSY if
        # another one has written meanwhile, whatever the timeout. The level is set before BEGIN, since SQLite does not
        # change it within a transaction.
        level = "FULL" if durable else "NORMAL"
        with writing(self._engine, self._dialect, f"PRAGMA synchronous={level}", "BEGIN IMMEDIATE") as transaction:
            yield transaction

    def write_apart(self) -> AbstractContextManager[Transaction]:
        """As ``write``: a file has one writer at a time."""
        return self.write()

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

    def corrupt(self, detail: str) -> LedgerCorrupt:
        """The error that says that something stored is damaged."""
        return corrupt(self.path, detail)

    def pragma(self, statement: str) -> Any:  # noqa: ANN401  # whatever SQLite answers
        """Run a PRAGMA outside any transaction and return its first value."""
        with self._connection() as driver, translated_errors(self._dialect):
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
        with self._connection() as driver, translated_errors(self._dialect):
            driver.set_progress_handler(until, INSTRUCTIONS_BETWEEN)
            driver.execute(f"PRAGMA busy_timeout={_milliseconds(busy_seconds or self._busy_seconds)}")
            try:
                driver.executescript(statement)  # to its end, which execute() leaves out where no column comes back
            finally:
                driver.set_progress_handler(None, INSTRUCTIONS_BETWEEN)
                driver.execute(f"PRAGMA busy_timeout={_milliseconds(self._busy_seconds)}")

    def close(self) -> None:
        """End all connections; the last one to leave folds the WAL into the file."""
        while self._free:
            self._free.pop().close()
        if "_engine" in self.__dict__:
            self._engine.dispose()

    @cached_property
    def _engine(self) -> Engine:
        from sqlalchemy import QueuePool, create_engine

        from agent.ledger.file.transaction import prepare_engine

        # The connection that was used last comes first: one after the other they would fill a cache each.
        engine = create_engine("sqlite://", creator=self._connect, poolclass=QueuePool, pool_use_lifo=True)
        return prepare_engine(engine, self._dialect)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """One that no other thread uses meanwhile; the one that was used last comes first, so that few fill a cache."""
        try:
            driver = self._free.pop()
        except IndexError:
            with translated_errors(self._dialect):
                driver = self._connect()
        try:
            yield driver
        finally:
            self._free.append(driver)

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
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a new file, and of an old one from VACUUM on
        connection.execute(f"PRAGMA journal_size_limit={JOURNAL_BYTES}")
        connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        return connection


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)
