"""Writing to the ledger: one transaction over the tables of ``schema``."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.engine import ExceptionContext

from agent.ledger.errors import translate_error
from agent.ledger.file.instants import microseconds
from agent.ledger.file.reading import Reading, in_parts, translated_errors
from agent.ledger.file.schema import metadata

Values = Mapping[str, Any]
AT_ONCE = 500  # numbers in one statement


class Transaction(Reading):
    """One transaction that writes, and reads what it has written.

    Attributes:
        core: its connection, for statements that only Core can say.
        after_commit: what is called once the transaction is committed; None: nothing.
    """

    after_commit: Callable[[], None] | None = None

    def __init__(self, path: Path, core: Connection) -> None:
        super().__init__(path, _driver_of(core))
        self.core = core

    def insert(self, table: str, values: Values) -> int:
        """Insert one row and return the number it got."""
        number = self._carry_out(_insert_text(table, tuple(values)), _bound(values)).lastrowid
        assert number is not None, "one row was inserted"
        return number

    def insert_all(self, table: str, rows: Iterable[Values]) -> None:
        """Insert rows, at least one, all with the same columns."""
        self._carry_out_many(_insert_text, table, rows)

    def put(self, table: str, rows: Iterable[Values]) -> None:
        """Insert rows, at least one, all columns of each; those with a key that is there already take its place."""
        self._carry_out_many(_put_text, table, rows)

    def update(self, table: str, numbers: Iterable[int], values: Values) -> int:
        """Change the rows with these numbers; how many there were."""
        changed, names = 0, tuple(values)
        for some in in_parts(numbers, AT_ONCE):
            text = f"{_update_text(table, names)} WHERE id IN ({', '.join('?' * len(some))})"
            changed += self._carry_out(text, [*_bound(values), *some]).rowcount
        return changed

    def delete(self, table: str, **of: object) -> int:
        """Delete the rows whose columns have these values, none of them None; how many there were."""
        conditions = " AND ".join(f"{_quoted(name)} = ?" for name in of)
        return self._carry_out(
            " ".join(("DELETE FROM", _quoted(table), "WHERE", conditions or "TRUE")), _bound(of)
        ).rowcount

    # Texts of our own and not Core's: to build a statement and to find its text took longer than to carry it out, with
    # every sample and every state of a move.

    def _carry_out(self, text: str, values: list[object]) -> sqlite3.Cursor:
        with translated_errors(self._path):
            return self._driver.execute(text, values)

    def _carry_out_many(
        self, text_of: Callable[[str, tuple[str, ...]], str], table: str, rows: Iterable[Values]
    ) -> None:
        every = list(rows)
        with translated_errors(self._path):
            self._driver.executemany(text_of(table, tuple(every[0])), map(_bound, every))


def _bound(values: Values) -> list[object]:
    """As SQLite stores them."""
    return [microseconds(value) if isinstance(value, datetime) else value for value in values.values()]


def _quoted(name: str) -> str:
    return f'"{name}"'


@cache
def _insert_text(table: str, names: tuple[str, ...]) -> str:
    columns, marks = ", ".join(map(_quoted, names)), ", ".join("?" * len(names))
    return " ".join(("INSERT INTO", _quoted(table), f"({columns}) VALUES ({marks})"))


@cache
def _put_text(table: str, names: tuple[str, ...]) -> str:
    columns = metadata.tables[table].columns
    keys = ", ".join(_quoted(column.name) for column in columns if column.primary_key)
    others = (_quoted(column.name) for column in columns if not column.primary_key)
    values = ", ".join(f"{name} = excluded.{name}" for name in others)
    return " ".join((_insert_text(table, names), f"ON CONFLICT ({keys}) DO UPDATE SET", values))


@cache
def _update_text(table: str, names: tuple[str, ...]) -> str:
    return " ".join(("UPDATE", _quoted(table), "SET", ", ".join(f"{_quoted(name)} = ?" for name in names)))


def make_engine(path: Path, connect: Callable[[], sqlite3.Connection]) -> Engine:
    """The pool of connections that write, of SQLAlchemy."""
    # The connection that was used last comes first: one after the other they would fill a cache each.
    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, pool_use_lifo=True)

    def translate(context: ExceptionContext) -> None:
        error = translate_error(path, context.original_exception)
        if error is not None:
            raise error from context.original_exception

    def begin(connection: Connection) -> None:
        """SQLAlchemy's hook at the start of a transaction: sqlite3's own implicit BEGIN comes too late for a writer."""
        driver = _driver_of(connection)
        with translated_errors(path):
            for statement in connection.get_execution_options().get("ledger_begin", ("BEGIN",)):
                driver.execute(statement)

    event.listen(engine, "begin", begin)
    event.listen(engine, "handle_error", translate)
    return engine


@contextmanager
def writing(engine: Engine, path: Path, level: str) -> Iterator[Transaction]:
    """A transaction that holds the write lock from its start, synchronous at that level."""
    # IMMEDIATE: a transaction that begins by reading and then wants to write fails at once with SQLITE_BUSY if another
    # one has written meanwhile, whatever the timeout. The level is set before BEGIN, since SQLite does not change it
    # within a transaction.
    options = {"ledger_begin": (f"PRAGMA synchronous={level}", "BEGIN IMMEDIATE")}
    with engine.connect() as connection, connection.execution_options(**options).begin():
        transaction = Transaction(path, connection)
        yield transaction
    # Outside the transaction: an anchor written before the commit would speak of a row that a crash can still take
    # back.
    if transaction.after_commit is not None:
        transaction.after_commit()


def _driver_of(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver
