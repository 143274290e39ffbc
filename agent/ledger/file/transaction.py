"""Writing to the ledger: one transaction over the tables of ``schema``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext

from agent.ledger.file.instants import microseconds
from agent.ledger.file.reading import Dialect, Reading, in_parts, translated_errors
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

    def __init__(self, dialect: Dialect, core: Connection) -> None:
        super().__init__(dialect, driver_of(core))
        self.core = core

    def insert(self, table: str, values: Values) -> int:
        """Insert one row and return the number it got."""
        with translated_errors(self.dialect):
            return self.dialect.insert(self._driver, _insert_text(table, tuple(values)), _bound(values))

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
            changed += self._carry_out(text, [*_bound(values), *some])
        return changed

    def delete(self, table: str, **of: object) -> int:
        """Delete the rows whose columns have these values, none of them None; how many there were."""
        conditions = " AND ".join(f"{_quoted(name)} = ?" for name in of)
        return self._carry_out(" ".join(("DELETE FROM", _quoted(table), "WHERE", conditions or "TRUE")), _bound(of))

    # Texts of our own and not Core's: to build a statement and to find its text took longer than to carry it out, with
    # every sample and every state of a move.

    def _carry_out(self, text: str, values: list[object]) -> int:
        with translated_errors(self.dialect):
            return int(self.dialect.execute(self._driver, text, values, in_pieces=False).rowcount)

    def _carry_out_many(
        self, text_of: Callable[[str, tuple[str, ...]], str], table: str, rows: Iterable[Values]
    ) -> None:
        every = list(rows)
        with translated_errors(self.dialect):
            self.dialect.execute_many(self._driver, text_of(table, tuple(every[0])), map(_bound, every))


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


def prepare_engine(engine: Engine, dialect: Dialect) -> Engine:
    """Let an engine begin its transactions as ``begin_with`` says, and raise the ledger's own errors."""

    def translate(context: ExceptionContext) -> None:
        if context.is_pre_ping:  # a session that the server has ended is replaced by the pool
            return
        error = dialect.translate(context.original_exception)
        if error is not None:
            raise error from context.original_exception

    def begin(connection: Connection) -> None:
        """SQLAlchemy's hook at the start of a transaction: the driver's own BEGIN comes too late for a writer."""
        with translated_errors(dialect):
            for statement in connection.get_execution_options()["ledger_begin"]:
                driver_of(connection).execute(statement)

    event.listen(engine, "begin", begin)
    event.listen(engine, "handle_error", translate)
    return engine


@contextmanager
def begun(engine: Engine, *statements: str) -> Iterator[Connection]:
    """A transaction that begins with these statements; commits at the end, rolls back on any error."""
    with engine.connect() as connection, connection.execution_options(ledger_begin=statements).begin():
        yield connection


@contextmanager
def writing(engine: Engine, dialect: Dialect, *begin: str) -> Iterator[Transaction]:
    """A transaction that writes, begun with these statements."""
    with begun(engine, *begin) as connection:
        transaction = Transaction(dialect, connection)
        yield transaction
    # Outside the transaction: an anchor written before the commit would speak of a row that a crash can still take
    # back.
    if transaction.after_commit is not None:
        transaction.after_commit()


def driver_of(connection: Connection) -> Any:  # noqa: ANN401  # a DB-API connection
    """The driver's own connection under one of SQLAlchemy's."""
    return connection.connection.driver_connection
