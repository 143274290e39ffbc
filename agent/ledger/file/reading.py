"""Reading the ledger with the driver alone: for a file the standard library's.

Most commands only read. To import SQLAlchemy takes longer than all else that they do, so it is loaded by the first
transaction that writes (``transaction``) and where columns are read (``Database.read_by_core``), not here. The tables
are those of ``schema``: a test holds ``INSTANTS`` to them.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from enum import Enum, auto
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from agent.ledger.file.instants import instant, microseconds

if TYPE_CHECKING:
    from agent.ledger.errors import LedgerError

_V = TypeVar("_V")
LARGEST = 2**63 - 1
Row: TypeAlias = Any  # named tuple of a query's columns
# Names of the columns that hold an instant, of whatever table.
INSTANTS = frozenset({
    "at", "created_at", "decided_at", "ended_at", "expires_at", "intended_at", "placed_at", "started_at", "until",
    "updated_at",
})  # fmt: skip


class Condition(NamedTuple):
    """A condition of SQL with the values of its question marks.

    A ``+`` before a column keeps SQLite from using an index of it, for conditions that pick no rows but only sift those
    that another condition has found. Without figures about its tables SQLite takes a condition on equality for the
    better one, and would walk all proposals of a database for the two of today (sqlite.org/optoverview.html,
    "Disqualifying WHERE Clause Terms").
    """

    text: str
    values: tuple[object, ...]


def where(text: str, *values: object) -> Condition:
    """The condition with its values in the order of its question marks."""
    return Condition(text, values)


def one_of(column: str, values: Collection[object]) -> Condition:
    """Whether the column has one of the values, of which a statement takes some thousands at most."""
    if not values:
        return where("1 = 0")
    return Condition(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))


class Sight(Enum):
    """What a login sees of a ledger that may be divided among teams."""

    ALL = auto()
    OWN_AND_CHAIN = auto()  # what belongs to its databases, and the whole audit chain
    OWN = auto()  # what belongs to its databases


class Dialect(Protocol):
    """What the two kinds of databases say differently. The rooms write SQLite's SQL, in what both have in common."""

    def execute(self, driver: Any, sql: str, values: list[object], *, in_pieces: bool) -> Any:  # noqa: ANN401  # DB-API
        """The cursor of a query of ours: an iterator of its rows, with a ``description``."""
        ...

    @property
    def errors(self) -> type[Exception]:
        """What the driver raises."""
        ...

    def translate(self, error: BaseException) -> LedgerError | None:
        """The ledger's own error for one that the driver raised; None where it does not say more than the original."""
        ...

    def like_file_name(self, column: str, pattern: str) -> Condition:
        """Whether a column matches a pattern with ``*``, ``?`` and ``[...]``, case-sensitive."""
        ...

    def sight(self, reading: Reading) -> Sight:
        """What the login that reads can see."""
        ...

    def insert(self, driver: Any, sql: str, values: list[object]) -> int:  # noqa: ANN401  # DB-API
        """Carry out the INSERT of one row; the number that it got."""
        ...

    def execute_many(self, driver: Any, sql: str, rows: Iterable[list[object]]) -> None:  # noqa: ANN401  # DB-API
        """Carry out a statement for each of some rows of values."""
        ...


class Reading:
    """One consistent snapshot of the ledger."""

    def __init__(self, dialect: Dialect, driver: Any) -> None:  # noqa: ANN401  # a DB-API connection
        """Read through a connection whose transaction has begun."""
        self.dialect = dialect
        self._driver = driver

    def rows(self, select: str, *conditions: Condition, then: str = "", in_pieces: bool = False) -> Iterator[Row]:
        """The rows that fulfil all conditions, read as they are asked for, as named tuples; instants are datetimes.

        Args:
            select: the query up to its conditions.
            conditions: all of them have to hold.
            then: what follows the conditions: order and limit.
            in_pieces: there may be very many: a server sends some at a time, where it would else send all at once.
        """
        together = " AND ".join(condition.text for condition in conditions)
        values = [_stored(value) for condition in conditions for value in condition.values]
        sql = f"{select}{' WHERE ' if together else ''}{together} {then}"
        # Closed where reading stops too: a server keeps what was not fetched yet.
        with (
            translated_errors(self.dialect),
            closing(self.dialect.execute(self._driver, sql, values, in_pieces=in_pieces)) as cursor,
        ):
            row_type, converted = _row_type(tuple(column[0] for column in cursor.description))
            for row in cursor:
                yield row_type(*map(_load, row, converted))

    def first(self, select: str, *conditions: Condition, then: str = "") -> Row:
        """The first of these rows; None where there is none."""
        return next(self.rows(select, *conditions, then=then), None)

    def scalar(self, select: str, *conditions: Condition, then: str = "") -> Any:  # noqa: ANN401  # of any column
        """The first column of the first row; None where there is none."""
        row = self.first(select, *conditions, then=then)
        return None if row is None else row[0]


@contextmanager
def translated_errors(dialect: Dialect) -> Iterator[None]:
    """Within, what the driver raises becomes the ledger's own error, where that says more."""
    try:
        yield
    except dialect.errors as error:
        ours = dialect.translate(error)
        if ours is None:
            raise
        raise ours from error


@lru_cache(maxsize=64)
def _row_type(names: tuple[str, ...]) -> tuple[Any, tuple[bool, ...]]:
    """The type of a row with these columns, and which of them are instants."""
    # Kept by names: making a class of named tuples takes longer than reading the rows of most queries.
    return namedtuple("Row", names, rename=True), tuple(name in INSTANTS for name in names)


def _load(value: Any, is_instant: bool) -> Any:  # noqa: ANN401  # whatever SQLite answers; for map()
    return instant(value) if is_instant and value is not None else value


def _stored(value: object) -> object:
    if isinstance(value, datetime):
        return microseconds(value)
    return bounded(value) if isinstance(value, int) else value


def bounded(number: int) -> int:
    """The number, or the nearest that SQLite can hold: no row has a larger one."""
    return max(-LARGEST - 1, min(LARGEST, number))


def in_parts(values: Iterable[_V], most: int) -> Iterator[list[_V]]:
    """Lists of no more than so many: a statement takes a limited number of values."""
    rest = iter(values)
    while some := list(islice(rest, most)):
        yield some
