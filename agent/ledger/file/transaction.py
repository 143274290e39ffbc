"""Writing to the ledger: one transaction, by SQLAlchemy's Core over the tables of ``schema``."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine, delete, event, insert, update
from sqlalchemy.dialects.sqlite import insert as insert_or_update
from sqlalchemy.engine import ExceptionContext

from agent.ledger.errors import translate_error
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
        key = self.core.execute(insert(metadata.tables[table]), values).inserted_primary_key
        assert key is not None, "one row was inserted"
        return int(key[0])

    def insert_all(self, table: str, rows: Iterable[Values]) -> None:
        """Insert rows, at least one."""
        self.core.execute(insert(metadata.tables[table]), list(rows))

    def put(self, table: str, rows: Iterable[Values]) -> None:
        """Insert rows, at least one; those with a key that is there already take its place."""
        to = metadata.tables[table]
        query = insert_or_update(to)
        others = {column.name: query.excluded[column.name] for column in to.columns if not column.primary_key}
        self.core.execute(query.on_conflict_do_update(set_=others), list(rows))

    def update(self, table: str, numbers: Iterable[int], values: Values) -> int:
        """Change the rows with these numbers; how many there were."""
        changed, to = 0, metadata.tables[table]
        for some in in_parts(numbers, AT_ONCE):
            changed += self.core.execute(update(to).where(to.c.id.in_(some)).values(values)).rowcount
        return changed

    def delete(self, table: str, **of: object) -> int:
        """Delete the rows whose columns have these values; how many there were."""
        to = metadata.tables[table]
        return int(self.core.execute(delete(to).where(*(to.c[name] == value for name, value in of.items()))).rowcount)


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
