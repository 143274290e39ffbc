"""The connection to the ledger file: SQLite in WAL mode, one writer at a time, errors in our own words.

Two kinds of writing. What was decided or is about to be done (``durable``) is on the disk when the call returns
(``synchronous=FULL``): a statement must not be sent to an engine on the strength of an intent that a power cut can take
back. Samples (``durable=False``) use ``synchronous=NORMAL``: a power cut may take the last of them, never more, and
nothing else. Neither a crash nor a kill of the process loses anything that returned.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnClause, Connection, QueuePool, Table, create_engine, event, insert, literal_column
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import OperationalError

from agent.ledger.errors import translate_error

_V = TypeVar("_V")
BUSY_SECONDS = 20.0  # how long a writer waits for another one
# A prepared statement keeps the values that it was given last, whole proposals among them, until it is used again. With
# Python's 128 for each connection a daemon grew by 10 KiB a move; to prepare a statement again takes microseconds.
CACHED_STATEMENTS = 4
CACHE_KIB = 512  # of pages, for each of up to five connections: what is read twice the system keeps too
JOURNAL_BYTES = 16 << 20  # of the -wal file, once what it held is in the ledger; it may grow further in between
AFTER_COMMIT = "after_commit"  # in Connection.info: a call that follows the commit of the transaction
INSTRUCTIONS_BETWEEN = 100  # of SQLite's virtual machine: how often a statement is asked whether to go on


class Database:
    """Short transactions on one ledger file. Safe to use from several threads."""

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        """Prepare; connects on first use.

        Args:
            path: absolute; the file exists (``opening.prepare_file``), SQLite never creates it here.
            busy_seconds: how long to wait for a lock before ``LedgerBusy``.
        """
        self.path = path
        self._busy_seconds = busy_seconds
        # The connection that was used last comes first: one after the other they would fill a cache each.
        self._engine = create_engine("sqlite://", creator=self._connect, poolclass=QueuePool, pool_use_lifo=True)
        event.listen(self._engine, "begin", _begin)
        event.listen(self._engine, "handle_error", self._translate)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent snapshot; writers are not blocked."""
        with self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """One transaction that holds the write lock from its start; commits at the end, rolls back on any error.

        Raises:
            LedgerBusy: another process kept the lock.
        """
        level = "FULL" if durable else "NORMAL"
        options = {"ledger_begin": (f"PRAGMA synchronous={level}", "BEGIN IMMEDIATE")}
        with self._engine.connect() as connection:
            connection.info.pop(AFTER_COMMIT, None)  # of a transaction on this connection that was rolled back
            with connection.execution_options(**options).begin():
                yield connection
            after: Callable[[], None] | None = connection.info.pop(AFTER_COMMIT, None)
        if after is not None:
            after()

    def pragma(self, statement: str) -> Any:  # noqa: ANN401  # whatever SQLite answers
        """Run a PRAGMA outside any transaction and return its first value."""
        with self._engine.connect() as connection:
            return connection.execution_options(ledger_begin=()).exec_driver_sql(f"PRAGMA {statement}").scalar()

    def run(
        self, statement: str, *, until: Callable[[], bool] | None = None, busy_seconds: float | None = None
    ) -> None:
        """Run a statement to its end that makes a transaction of its own, as VACUUM does.

        Args:
            statement: what to run.
            until: asked now and then; the statement is broken off and undone once it says so.
            busy_seconds: how long to wait for a lock, default as ever.

        Raises:
            OperationalError: it was broken off.
        """
        with self._engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.set_progress_handler(until, INSTRUCTIONS_BETWEEN)
            driver.execute(f"PRAGMA busy_timeout={_milliseconds(busy_seconds or self._busy_seconds)}")
            try:
                driver.executescript(statement)  # to its end, which execute() leaves out where no column comes back
            except sqlite3.Error as error:
                raise translate_error(self.path, error) or OperationalError(statement, None, error) from error
            finally:
                driver.set_progress_handler(None, INSTRUCTIONS_BETWEEN)
                driver.execute(f"PRAGMA busy_timeout={_milliseconds(self._busy_seconds)}")

    def close(self) -> None:
        """End all connections; the last one to leave folds the WAL into the file."""
        self._engine.dispose()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,  # we say BEGIN ourselves, see _begin
            check_same_thread=False,  # the pool hands a connection to one thread at a time
            cached_statements=CACHED_STATEMENTS,
        )
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a new file, and of an old one from VACUUM on
        connection.execute(f"PRAGMA journal_size_limit={JOURNAL_BYTES}")
        connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        return connection

    def _translate(self, context: ExceptionContext) -> None:
        error = translate_error(self.path, context.original_exception)
        if error is not None:
            raise error from context.original_exception


def not_by_index(column: Column[Any]) -> ColumnClause[Any]:
    """The column in a condition that picks no rows but only sifts those that another condition has found by its index.

    Without figures about its tables SQLite takes a condition on equality for the better one, and would walk all
    proposals of a database for the two of today (sqlite.org/optoverview.html, "Disqualifying WHERE Clause Terms").
    """
    return literal_column(f'+{column.table.name}."{column.name}"', column.type)


def in_parts(values: Iterable[_V], most: int) -> Iterator[list[_V]]:
    """Lists of no more than so many: a statement takes a limited number of values."""
    rest = list(values)
    for start in range(0, len(rest), most):
        yield rest[start : start + most]


def insert_row(connection: Connection, table: Table, values: Mapping[str, Any]) -> int:
    """Insert one row and return the number it got."""
    key = connection.execute(insert(table), values).inserted_primary_key
    assert key is not None, "one row was inserted"
    return int(key[0])


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)


def _begin(connection: Connection) -> None:
    """SQLAlchemy's hook at the start of a transaction: sqlite3's own implicit BEGIN comes too late for a writer."""
    for statement in connection.get_execution_options().get("ledger_begin", ("BEGIN",)):
        connection.exec_driver_sql(statement)
