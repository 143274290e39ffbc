"""Short transactions on a ledger, and statements of SQLAlchemy's Core run without its engine.

``Prepared`` is a statement that Core has compiled once for a driver. Core's types convert values and the columns of
rows; the driver does the rest. A value of the wrong kind for its column counts as damage, since SQLite does not hold
columns to their types. Core's own connection is left out: with it the question that an agent asks once a second takes
54 microseconds instead of 17.

``Database`` is what all ledgers have in common. ``agent.ledger.file`` (SQLite, one machine) and ``agent.ledger.server``
(PostgreSQL, many agents) each begin transactions in their own way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from functools import cache, lru_cache
from itertools import islice
from types import NoneType, TracebackType
from typing import Any, ClassVar, TypeAlias, TypeVar

from sqlalchemy import (
    ClauseElement,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Float,
    Insert,
    Integer,
    LargeBinary,
    StaticPool,
    String,
    Table,
    Update,
    create_engine,
    event,
    insert,
    update,
)
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import SelectBase
from sqlalchemy.types import TypeEngine

from agent.ledger.errors import LedgerCorrupt, LedgerError, WrongKind
from agent.ledger.store.schema import Put, one_of

Row: TypeAlias = Any  # named tuple of a query's columns, by their types: instants are datetimes
Values: TypeAlias = Mapping[str, Any]
Convert: TypeAlias = Callable[[Any], Any]
# What columns of these types hold, as the drivers give it.
_KINDS: tuple[tuple[type[TypeEngine[Any]], tuple[type, ...]], ...] = (
    (Integer, (int,)), (String, (str,)), (LargeBinary, (bytes,)), (Float, (float, int)),
)  # fmt: skip
HELD = 512  # statements; those of the modules are about 150


class Prepared:
    """A statement in the words of one kind of database.

    Attributes:
        text: of the statement, for ``many``.
    """

    def __init__(self, statement: ClauseElement, dialect: Dialect, names: tuple[str, ...]) -> None:
        """Compile it.

        Args:
            statement: of Core.
            dialect: of the database.
            names: of the columns that it inserts or sets.
        """
        compiled = statement.compile(dialect=dialect, column_keys=list(names) or None)
        assert isinstance(compiled, SQLCompiler), "it is a statement with values"
        self._compiled, self._dialect, self._statement = compiled, dialect, statement
        self.text = compiled.string
        self._converts = {
            name: convert
            for bind, name in compiled.bind_names.items()
            if (convert := bind.type.dialect_impl(dialect).bind_processor(dialect)) is not None
        }
        self._row: Callable[[Sequence[Any]], Row] | None = None  # known once it has run

    def bound(self, values: Values) -> tuple[str, Any]:
        """The text, and the values in the driver's order or by its names."""
        if not self._compiled.post_compile_params:
            return self.text, self.ordered(values)
        state = self._compiled.construct_expanded_state(values)  # one of the values is a list
        converts = {**self._converts, **state.processors}
        return state.statement, _ordered(dict(state.parameters), converts, state.positiontup)

    def ordered(self, values: Values) -> Any:  # noqa: ANN401  # a list or a mapping
        """The values in the driver's order or by its names."""
        return _ordered(self._compiled.construct_params(values), self._converts, self._compiled.positiontup)

    def row(self, description: Sequence[Any]) -> Callable[[Sequence[Any]], Row]:
        """What makes a row of what the driver gives.

        Args:
            description: of its cursor.
        """
        if self._row is None:
            self._row = self._make_row(description)
        return self._row

    def _make_row(self, description: Sequence[Any]) -> Callable[[Sequence[Any]], Row]:
        make: Callable[[Sequence[Any]], Row] = _row_type(tuple(column[0] for column in description))._make
        if not isinstance(self._statement, SelectBase):
            return make
        columns = list(self._statement.selected_columns)
        kinds = [_kind_of(column) for column in columns]
        converts = [
            (place, convert) for place, convert in enumerate(self._converts_of(columns, description)) if convert
        ]

        def checked(row: Sequence[Any]) -> Row:
            if not all(map(isinstance, row, kinds)):
                raise _wrong_kind(row, columns, kinds)
            values, place = list(row), 0
            try:
                for place, convert in converts:
                    values[place] = convert(values[place])
            except WrongKind as error:
                raise WrongKind(str(error), *_row_with(columns[place], row, columns)) from error
            return make(values)

        return checked

    def _converts_of(
        self, columns: Iterable[ColumnElement[Any]], description: Sequence[Any]
    ) -> Iterator[Convert | None]:
        for column, described in zip(columns, description, strict=True):
            yield column.type.dialect_impl(self._dialect).result_processor(self._dialect, described[1])


def _kind_of(column: ColumnElement[Any]) -> type | tuple[type, ...]:
    """What a driver gives for a stored column, whose values SQLite does not hold to its type (datatype3.html, 3)."""
    if not isinstance(column, Column):
        return object  # computed: sums of PostgreSQL's are decimals
    return next(((*kinds, NoneType) for of, kinds in _KINDS if isinstance(column.type, of)), object)


def _wrong_kind(row: Sequence[Any], columns: Sequence[ColumnElement[Any]], kinds: Iterable[Any]) -> WrongKind:
    """The error for a row whose values are not all of their kinds; it does not say what they are."""
    value, column, kind = next(
        each for each in zip(row, columns, kinds, strict=True) if not isinstance(each[0], each[2])
    )
    table, key = _row_with(column, row, columns)
    of_it = "" if not key or "id" in key else f" of {', '.join(map(str, key.values()))} in {table}"
    detail = f"{type(value).__name__} in the column {column.name}{of_it}, which holds {kind[0].__name__}"
    return WrongKind(detail, table, key)


def _row_with(
    column: ColumnElement[Any], row: Sequence[Any], columns: Sequence[ColumnElement[Any]]
) -> tuple[str, dict[str, object]]:
    """Table and key of the row that a column is of; none where the key is not asked for."""
    of = getattr(column, "table", None)
    if not isinstance(of, Table) or not {*of.primary_key} <= {*columns}:
        return "", {}
    return of.name, {each.name: row[columns.index(each)] for each in of.primary_key}


def _ordered(found: MutableMapping[str, Any], converts: Mapping[str, Any], names: Sequence[str] | None) -> Any:  # noqa: ANN401
    for name, convert in converts.items():
        if name in found:
            found[name] = convert(found[name])
    return found if names is None else [found[name] for name in names]


@lru_cache(maxsize=HELD)
def prepare(statement: ClauseElement, dialect: Dialect, names: tuple[str, ...] = ()) -> Prepared:
    """A statement made ready; the same one only once, so modules keep theirs as constants."""
    return Prepared(statement, dialect, names)


@lru_cache(maxsize=64)
def _row_type(names: tuple[str, ...]) -> Any:  # noqa: ANN401  # a class of named tuples
    # Kept by names: making a class takes longer than reading the rows of most queries.
    return namedtuple("Row", names, rename=True)


CHUNK = 500  # values in one statement
_V = TypeVar("_V")


class Sight(Enum):
    """What a login sees of a ledger that may be divided among teams."""

    ALL = auto()
    OWN_AND_CHAIN = auto()  # what belongs to its databases, and the whole audit chain
    OWN = auto()  # what belongs to its databases


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Rows of history that went because of their age."""

    rows: int
    bytes: int  # of their blobs


class Reading:
    """One consistent snapshot of the ledger.

    Attributes:
        driver: the driver's connection, whose transaction has begun.
        database: the one that it is a snapshot of.
    """

    def __init__(self, driver: Any, database: Database) -> None:  # noqa: ANN401  # a DB-API connection
        self.driver = driver
        self.database = database

    def rows(self, query: ClauseElement, /, **values: Any) -> list[Row]:  # noqa: ANN401  # of any column
        """The rows of a query, given its values by the names that they have in it."""
        prepared = prepare(query, self.database.dialect)
        with self.database.own_errors, self._closed_after(self.driver.cursor()) as cursor:
            cursor.execute(*prepared.bound(values))
            return list(map(prepared.row(cursor.description), cursor.fetchall()))

    def each(self, query: ClauseElement, /, **values: Any) -> Iterator[Row]:  # noqa: ANN401
        """The same, read as they are asked for: of very many or very long ones few are held."""
        prepared = prepare(query, self.database.dialect)
        # Closed where reading stops too: a server keeps what was not fetched yet.
        with self.database.own_errors, self._closed_after(self.database.cursor_of_many(self.driver)) as cursor:
            cursor.execute(*prepared.bound(values))
            yield from map(prepared.row(cursor.description), cursor)

    def some(
        self, query: ClauseElement, some: Iterable[object], at_once: int = CHUNK, /, **values: Any  # noqa: ANN401
    ) -> Iterator[Row]:  # fmt: skip
        """The rows of a query over ``one_of`` for any number of values; one statement takes some thousands."""
        for part in in_parts(some, at_once):
            yield from self.rows(query, some=part, **values)

    def first(self, query: ClauseElement, /, **values: Any) -> Row:  # noqa: ANN401
        """The first of these rows; None where there is none."""
        prepared = prepare(query, self.database.dialect)
        with self.database.own_errors, self._closed_after(self.driver.cursor()) as cursor:
            cursor.execute(*prepared.bound(values))
            found = cursor.fetchone()
            return None if found is None else prepared.row(cursor.description)(found)

    def scalar(self, query: ClauseElement, /, **values: Any) -> Any:  # noqa: ANN401
        """The first column of the first row; None where there is none."""
        row = self.first(query, **values)
        return None if row is None else row[0]

    @contextmanager
    def _closed_after(self, cursor: Any) -> Iterator[Any]:  # noqa: ANN401  # DB-API
        try:
            yield cursor
        finally:
            with suppress(*self.database.errors):  # an error keeps what reads rows until after the connection is closed
                cursor.close()


class Transaction(Reading):
    """One transaction that writes, and reads what it has written.

    Attributes:
        after_commit: what is called once the transaction is committed; None: nothing.
    """

    after_commit: Callable[[], None] | None = None

    def insert(self, table: Table, values: Values) -> int:
        """Insert one row and return the number it got."""
        prepared = self._prepared(_insert(table), values)
        with self.database.own_errors, self._closed_after(self.driver.cursor()) as cursor:
            cursor.execute(*prepared.bound(values))
            # By Core's default the dialect returns the key where the driver does not say which one a row got.
            return int(cursor.fetchone()[0] if cursor.description else cursor.lastrowid)

    def insert_all(self, table: Table, rows: Iterable[Values]) -> None:
        """Insert rows, at least one, all with the same columns."""
        self._carry_out_many(_insert_unnumbered(table), rows)

    def put(self, table: Table, rows: Iterable[Values]) -> None:
        """Insert rows, at least one, all columns of each; those with a key that is there already take its place."""
        self._carry_out_many(_put(table), rows)

    def update(self, table: Table, numbers: Iterable[int], values: Values) -> int:
        """Change the rows with these numbers; how many there were."""
        prepared, changed = self._prepared(_update(table), values), 0
        for part in in_parts(numbers, CHUNK):
            changed += self._carry_out(prepared, {**values, "some": part})
        return changed

    def execute(self, statement: ClauseElement, /, **values: Any) -> int:  # noqa: ANN401
        """Carry out a statement that changes rows; how many it changed."""
        return self._carry_out(prepare(statement, self.database.dialect), values)

    @contextmanager
    def core(self) -> Iterator[Connection]:
        """Core's own connection to this transaction, for what makes and changes tables."""
        engine = create_engine(
            self.database.url, creator=lambda: self.driver, poolclass=StaticPool, pool_reset_on_return=None,
            hide_parameters=True,
        )  # fmt: skip
        for ends in ("do_commit", "do_rollback", "do_close"):  # of the transaction: that is not for Core to say
            setattr(engine.dialect, ends, lambda _: None)
        event.listen(engine, "handle_error", self.database.raise_own)
        with engine.connect() as connection, connection.begin():
            yield connection

    def _prepared(self, statement: ClauseElement, values: Values) -> Prepared:
        return prepare(statement, self.database.dialect, tuple(values))

    def _carry_out(self, prepared: Prepared, values: Values) -> int:
        with self.database.own_errors, self._closed_after(self.driver.cursor()) as cursor:
            cursor.execute(*prepared.bound(values))
            return int(cursor.rowcount)

    def _carry_out_many(self, statement: ClauseElement, rows: Iterable[Values]) -> None:
        every = list(rows)
        prepared = self._prepared(statement, every[0])
        with self.database.own_errors, self._closed_after(self.driver.cursor()) as cursor:
            cursor.executemany(prepared.text, map(prepared.ordered, every))


@cache
def _insert(table: Table) -> Insert:
    return insert(table)


@cache
def _insert_unnumbered(table: Table) -> Insert:
    return insert(table).inline()  # who may insert rows may not read all of them, and would be asked to


@cache
def _put(table: Table) -> Put:
    return Put(table).inline()


@cache
def _update(table: Table) -> Update:
    (key,) = table.primary_key
    return update(table).where(one_of(key))


def in_parts(values: Iterable[_V], most: int) -> Iterator[list[_V]]:
    """Lists of no more than so many: a statement takes a limited number of values."""
    rest = iter(values)
    while part := list(islice(rest, most)):
        yield part


class OwnErrors:
    """Within, what the driver raises becomes the ledger's own error, where that says more."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, self._database.errors) and (ours := self._database.translate(error)) is not None:
            raise ours from error


KEPT_CONNECTIONS = 4  # that nothing uses now: for decisions, samples, the lease, and whoever asks over HTTP


class Database(ABC):
    """Short transactions on one ledger. Safe to use from several threads.

    Attributes:
        name: the ledger in messages: its file, or user, host and schema.
        lease_seconds: how long a lease lasts without being renewed; inf: until another process of the machine takes it.
    """

    errors: ClassVar[tuple[type[Exception], ...]]  # what the driver raises, and a value of a wrong kind
    dialect: ClassVar[Dialect]  # in whose words Core says a statement
    url: ClassVar[str]  # Core's name of dialect and driver

    def __init__(self, name: str, lease_seconds: float) -> None:
        """Prepare; connects on first use. Arguments as the attributes."""
        self.name = name
        self.lease_seconds = lease_seconds
        self.own_errors = OwnErrors(self)
        self._free: list[Any] = []  # connections of the driver; that used last comes first, so that few fill a cache

    # -- transactions --------------------------------------------------------------------------------------------

    @abstractmethod
    def read(self) -> AbstractContextManager[Reading]:
        """One consistent snapshot; writers are not blocked."""

    @abstractmethod
    def write(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """One transaction, alone of its kind from its start; commits at the end, rolls back on any error.

        Args:
            durable: what was decided or is about to be done: it survives a power cut once this returns, and no other
                decision is made meanwhile. False: samples; the last of them may be lost.

        Raises:
            LedgerBusy: another process kept the lock.
        """

    @abstractmethod
    def write_apart(self) -> AbstractContextManager[Transaction]:
        """A durable transaction that waits for decisions only where it locks the same row."""

    @contextmanager
    def _reading(self, *begin: str) -> Iterator[Reading]:
        """A transaction that reads, begun with these statements of the driver's."""
        driver = self._take(*begin)
        try:
            yield Reading(driver, self)
        finally:
            # Rolled back, not committed: there is nothing to commit, and a rollback also ends the snapshot where a
            # query has failed.
            self._give_back(driver)

    @contextmanager
    def _writing(self, *begin: str) -> Iterator[Transaction]:
        """A transaction that writes, begun with these statements of the driver's."""
        driver = self._take(*begin)
        try:
            transaction = Transaction(driver, self)
            yield transaction
            with self.own_errors:
                driver.commit()
        finally:
            self._give_back(driver)
        # Outside the transaction: an anchor written before the commit would speak of a row that a crash can still take
        # back.
        if transaction.after_commit is not None:
            transaction.after_commit()

    def _take(self, *begin: str) -> Any:  # noqa: ANN401  # the driver's
        """A connection that no other thread uses meanwhile, whose transaction has begun with these statements."""
        with self.own_errors:
            try:
                driver = self._free.pop()
            except IndexError:
                driver = self._connect()
            self._begin(driver, *begin)
            return driver

    def _begin(self, driver: Any, *begin: str) -> None:  # noqa: ANN401  # the driver's
        try:
            for statement in begin:
                driver.execute(statement)
        except BaseException:
            self._give_back(driver)
            raise

    def _give_back(self, driver: Any) -> None:  # noqa: ANN401  # the driver's
        """Undo what is not committed, and keep the connection for the next transaction, if it is still of use."""
        try:
            driver.rollback()
        except self.errors:  # the server is gone, or after Ctrl-C amid a statement its answer has yet to come
            driver.close()
        else:
            if len(self._free) < KEPT_CONNECTIONS:
                self._free.append(driver)
            else:  # many were asked for at the same moment, as seldom happens: a server counts them
                driver.close()

    @abstractmethod
    def _connect(self) -> Any:  # noqa: ANN401  # the driver's
        """A new connection of the driver's, which begins no transaction implicitly."""

    @abstractmethod
    def cursor_of_many(self, driver: Any) -> Any:  # noqa: ANN401  # the driver's
        """A cursor for perhaps very many rows, which it does not hold all at once."""

    # -- errors --------------------------------------------------------------------------------------------------

    @abstractmethod
    def translate(self, error: BaseException) -> LedgerError | None:
        """The ledger's own error for one that the driver raised; None where it does not say more than the original."""

    def raise_own(self, context: ExceptionContext) -> None:
        """SQLAlchemy's hook: the same for what Core carries out."""
        ours = self.translate(context.original_exception)
        if ours is not None:
            raise ours from context.original_exception

    @abstractmethod
    def corrupt(self, detail: str, table: str = "", **key: object) -> LedgerCorrupt:
        """The error that says that something stored is damaged; with a table, its row with that key."""

    # -- what the two kinds know of themselves -------------------------------------------------------------------

    @abstractmethod
    def latest_possible(self, reading: Reading, now: datetime) -> datetime:
        """The latest time that a row written now can honestly have.

        Args:
            reading: of the ledger.
            now: by the clock of who asks.
        """

    @abstractmethod
    def now(self, reading: Reading) -> datetime:
        """The time by the clock that all who write here have in common."""

    @abstractmethod
    def sight(self, reading: Reading) -> Sight:
        """What the login that reads can see."""

    @abstractmethod
    def find_owned(self, reading: Reading) -> frozenset[str] | None:
        """The databases whose rows the login that reads can see; None: all of the ledger."""

    @abstractmethod
    def moved_to(self, reading: Reading) -> str:
        """Where all that is here went for good, so that nothing is written here any more; "" while it is in use."""

    @abstractmethod
    def size_bytes(self) -> int:
        """What it takes on the disk."""

    @abstractmethod
    def find_damage(self) -> str:
        """What is wrong with the storage under it; "" where nothing was found."""

    @abstractmethod
    def drop_history(self, now: datetime, kept_seconds: float, databases: Collection[str]) -> Dropped:
        """Drop what was measured before it is kept.

        Args:
            now: by the agent's clock.
            kept_seconds: as this agent is configured.
            databases: those whose history this agent keeps; a file drops that of all.
        """

    def close(self) -> None:
        """End all connections."""
        while self._free:
            self._free.pop().close()
