"""The tables as the newest migration leaves them, and parts of statements that Core has no word for.

``metadata`` holds the tables. ``tests/ledger/test_schema.py`` compares tables and migrations, on SQLite and on
PostgreSQL. Instants are whole microseconds since 1970 in UTC: exact, sortable, and without a time zone to misread.
Decisions are stored as text that a person can read with any SQLite tool; measurements are compressed.

``given``, ``one_of`` and the conditions after them are compiled for SQLite and for PostgreSQL. Statements are built
once, as constants of the modules that use them, and get their values when they are carried out. Building one takes
longer than carrying it out.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Insert,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    bindparam,
    func,
    literal_column,
    type_coerce,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement
from sqlalchemy.types import TypeEngine

from agent.ledger.errors import WrongKind

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LARGEST = 2**63 - 1
APPLICATION_ID = 0x686F7470  # "hotp": tells a ledger from any other SQLite file
# Every migration, the oldest first.
REVISIONS = ("v0001", "v0002", "v0003", "v0004", "v0005", "v0006", "v0007", "v0008", "v0009", "v0010", "v0011")
HEAD = REVISIONS[-1]
ARRIVING = "arriving"  # in place of a revision, while the rows of another ledger are moved here


def microseconds(at: datetime) -> int:
    """Whole microseconds since 1970.

    Raises:
        ValueError: the time names no zone.
    """
    if at.tzinfo is None:
        raise ValueError(f"the time {at} names no zone")
    return (at - EPOCH) // timedelta(microseconds=1)


def instant(microseconds_: int) -> datetime:
    """Inverse of ``microseconds``.

    Raises:
        WrongKind: it is no number, or one of a time beyond the calendar.
    """
    try:
        return EPOCH + timedelta(microseconds=microseconds_)
    except (TypeError, ValueError, OverflowError) as error:
        raise WrongKind(f"an instant is {microseconds_!r:.40}") from error


class MomentType(TypeDecorator[datetime]):
    """An aware datetime, stored as microseconds."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002  # SQLAlchemy's signature
        """Python to the database."""
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  # SQLAlchemy's signature
        """The database to Python."""
        return None if value is None else instant(value)


class Whole(TypeDecorator[int]):
    """A whole number that a query asks for, which may be one that no row can have: people mistype, and facts lie."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002  # SQLAlchemy's signature
        """The number, or the nearest that a database can hold: no row has a larger one."""
        return None if value is None else max(-LARGEST - 1, min(LARGEST, value))


metadata = MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s"})

proposals = Table(
    "proposals",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("same_work", Text, nullable=False),  # equal for proposals that would do the same
    Column("body", Text, nullable=False),  # agent.model.proposals.proposal_text
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at", MomentType, nullable=False),
    Column("expires_at", MomentType, nullable=False),
    Column("decided_at", MomentType),
    Column("decided_by", Text, nullable=False),
    Column("decided_from", Text, nullable=False),
    Column("approved_digest", Text),
    Index("ix_proposals_database", "database", "state"),
    Index("ix_proposals_created_at", "created_at"),
    sqlite_autoincrement=True,  # a number that a person has seen is never given again
)

moves = Table(
    "moves",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("proposal_id", Integer, ForeignKey("proposals.id"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("updated_at", MomentType, nullable=False),
    UniqueConstraint("proposal_id", "ordinal"),
    Index("ix_moves_state", "state"),
    Index("ix_moves_updated_at", "updated_at"),
    sqlite_autoincrement=True,
)

placements = Table(
    "placements",
    metadata,
    Column("database", Text, primary_key=True),
    Column("unit_key", Text, primary_key=True),
    Column("placed_at", MomentType, nullable=False),
    sqlite_with_rowid=False,
)

steps = Table(
    "steps",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("move_id", Integer, ForeignKey("moves.id"), nullable=False, index=True),
    Column("ordinal", Integer, nullable=False),
    Column("sql", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("intended_at", MomentType, nullable=False),
    Column("ended_at", MomentType, index=True),
)

outcomes = Table(
    "outcomes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("move_id", Integer, ForeignKey("moves.id"), nullable=False, index=True),
    Column("at", MomentType, nullable=False),
    Column("body", Text, nullable=False),
)

asks = Table(
    "asks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("move_id", Integer, ForeignKey("moves.id"), nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", MomentType, nullable=False),
    Column("answer", Text, nullable=False),
    sqlite_autoincrement=True,
)

closed_spaces = Table(
    "closed_spaces",
    metadata,
    Column("database", Text, primary_key=True),
    Column("space", Text, primary_key=True),
    Column("who", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", MomentType, nullable=False),
    sqlite_with_rowid=False,
)

pins = Table(
    "pins",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database", Text, nullable=False),
    Column("pattern", Text, nullable=False),
    Column("pin", Integer, nullable=False),
    Column("who", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at", MomentType, nullable=False),
    Column("until", MomentType),
    UniqueConstraint("database", "pattern"),
    sqlite_autoincrement=True,
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", MomentType, nullable=False, index=True),
    Column("actor", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("subject", Text, nullable=False, index=True),
    Column("facts", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

audit_head = Table(  # one row: where the chain ends, so that cutting off its tail shows
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("last_id", Integer, nullable=False),
    Column("hash", Text, nullable=False),
    Column("at", MomentType),  # the latest time of a row, apart from those that no clock can have said
)

arrays = Table(
    "arrays",
    metadata,
    Column("database", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("at", MomentType, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

shared_columns = Table(  # one copy of each column of arrays, found by its hash: agent.ledger.shared_columns
    "shared_columns",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

array_columns = Table(  # which of them a set of arrays has
    "array_columns",
    metadata,
    Column("database", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("column", Text, primary_key=True),
    Column("digest", Text, nullable=False, index=True),
    sqlite_with_rowid=False,
)

documents = Table(
    "documents",
    metadata,
    Column("database", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("at", MomentType, nullable=False),
    Column("body", Text, nullable=False),
)

unit_slots = Table(  # keys are unique within a database because slots are only given under the write lock
    "unit_slots",
    metadata,
    Column("database", Text, primary_key=True),
    Column("slot", Integer, primary_key=True),
    Column("unit_key", Text, nullable=False),
    sqlite_with_rowid=False,
)

history = Table(
    "history",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database", Text, nullable=False),
    Column("resolution_seconds", Integer, nullable=False),
    Column("started_at", MomentType, nullable=False),
    Column("ended_at", MomentType, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("signals", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("ix_history_database", "database", "ended_at"),
    Index("ix_history_resolution_seconds", "resolution_seconds", "ended_at"),
)

work = Table(
    "work",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database", Text, nullable=False),
    Column("ended_at", MomentType, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("body", Text, nullable=False),  # agent.ledger.measured.rates
    Index("ix_work_database", "database", "ended_at"),
)

statements = Table(
    "statements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database", Text, nullable=False),
    Column("started_at", MomentType, nullable=False),
    Column("ended_at", MomentType, nullable=False),
    Column("body", LargeBinary, nullable=False),  # agent.ledger.measured.work
    Index("ix_statements_database", "database", "ended_at"),
)

leases = Table(  # one row for each database that was ever acted on: agent.ledger.leases
    "leases",
    metadata,
    Column("database", Text, primary_key=True),
    Column("token", BigInteger, nullable=False),  # of the newest holder; it only ever grows
    Column("holder", Text, nullable=False),  # which process, in words
    Column("session", Text, nullable=False),  # the same, in a word that is never used again; "": given back
    Column("seconds", Float, nullable=False),  # how long it lasts without being renewed
    Column("expires_at", MomentType),  # by the clock of the server; None: it lasts until another one takes it
    sqlite_with_rowid=False,
)

# Which revision the tables are of; Alembic's own, and so with its own name for the key.
alembic_version = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


QUERIES_HELD = 64  # of each kind that is put together from what is asked for
SOME = "some"  # the values of ``one_of``
_POSTGRESQL = "postgresql"
_GLOB_PARTS = re.compile(r"\*|\?|\[!?\]?[^\]]*(?:\]|\Z)|.", re.DOTALL)  # a set that does not end is its characters


# -- values that are given when a statement is carried out -----------------------------------------------------------


def given(column: ColumnElement[Any], name: str = "") -> ColumnElement[bool]:
    """Whether a column has the value that is given under this name, by default the column's own."""
    return column == value_for(column, name or column.key or "")


def value_for(column: ColumnElement[Any], name: str) -> BindParameter[Any]:
    """A value that is given under a name, to be compared with a column."""
    return bindparam(name, type_=_comparison_type(column))


def one_of(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a column has one of the values that are given as ``some``; one statement takes some thousands."""
    return column.in_(bindparam(SOME, expanding=True, type_=_comparison_type(column)))


def among(column: ColumnElement[Any], values: Collection[StrEnum]) -> ColumnElement[bool]:
    """Whether a column has one of some states, which are words of ours: they are part of the text."""
    # Given as values like all others, ten states took as long as the rest of a question that is asked once a second.
    return column.in_([literal_column(f"'{value}'", column.type) for value in sorted(values)])


def _comparison_type(column: ColumnElement[Any]) -> TypeEngine[Any]:
    return Whole() if isinstance(column.type, Integer) else column.type


# -- conditions ------------------------------------------------------------------------------------------------------


class unindexed(FunctionElement[Any]):  # noqa: N801  # read as a function, as Core's own are
    """A column whose indexes SQLite does not use: for conditions that only sift what another condition has found.

    Without figures about its tables SQLite takes a condition on equality for the better one, and would walk all
    proposals of a database for the two of today (sqlite.org/optoverview.html, "Disqualifying WHERE Clause Terms").
    PostgreSQL keeps figures of its own.
    """

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column)
        self.type = column.type


class holds_text(FunctionElement[bool]):  # noqa: N801
    """Whether a column holds a text, compared as it is written: SQLite's LIKE takes no notice of case."""

    inherit_cache = True


class like_file_name(FunctionElement[bool]):  # noqa: N801
    """Whether a column matches the ``pattern`` that is given, with ``*``, ``?`` and ``[...]``, case-sensitive."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column, bindparam("pattern", type_=_Pattern()))


class _Pattern(TypeDecorator[str]):
    """A pattern of file names, as each kind of database takes it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Python to the database."""
        assert value is not None, "a pattern is given"
        if dialect.name == _POSTGRESQL:
            return "".join(("^(?:", *map(_as_regex, _GLOB_PARTS.findall(value)), ")$"))
        return value.replace("[!", "[^")


def begins_with(column: ColumnElement[Any], words: str | BindParameter[str]) -> ColumnElement[bool]:
    """Whether a column begins with some words, compared as they are written."""
    return func.substr(column, 1, len(words) if isinstance(words, str) else func.length(words)) == words


@compiles(unindexed)
def _compile_unindexed(element: unindexed, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401  # SQLAlchemy's signature
    return f"+{compiler.process(element.clauses, **kw)}"


@compiles(unindexed, _POSTGRESQL)
def _compile_indexed(element: unindexed, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401  # as above
    return compiler.process(element.clauses, **kw)


@compiles(holds_text)
def _instr(element: holds_text, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401
    return f"instr({compiler.process(element.clauses, **kw)}) > 0"


@compiles(holds_text, _POSTGRESQL)
def _strpos(element: holds_text, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401
    return f"strpos({compiler.process(element.clauses, **kw)}) > 0"


@compiles(like_file_name)
def _glob(element: like_file_name, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401
    column, pattern = element.clauses
    # +: else SQLite looks for an index by the pattern that is given, and plans the statement again each time.
    return f"+{compiler.process(column, **kw)} GLOB {compiler.process(pattern, **kw)}"


@compiles(like_file_name, _POSTGRESQL)
def _regex(element: like_file_name, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401
    column, pattern = element.clauses
    return f"{compiler.process(column, **kw)} ~ {compiler.process(pattern, **kw)}"


def _as_regex(part: str) -> str:
    """A part of a pattern as PostgreSQL's regular expression."""
    if part in {"*", "?"}:
        return ".*" if part == "*" else "."
    if len(part) > 1 and part.endswith("]"):
        return part.replace("[!", "[^", 1).replace("\\", "\\\\")
    return re.escape(part)


def bucket_of(column: ColumnElement[Any], width: int) -> ColumnElement[int]:
    """Number of the bucket of so many microseconds, (start, end], in which an instant lies."""
    return (type_coerce(column, BigInteger) - 1) // width


# -- statements ------------------------------------------------------------------------------------------------------


class Put(Insert):
    """INSERT of whole rows; those with a key that is there already take its place."""

    inherit_cache = True


@compiles(Put)
def _put(element: Put, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401
    quoted, columns = compiler.preparer.quote, element.table.columns
    keys = ", ".join(quoted(column.name) for column in columns if column.primary_key)
    others = (quoted(column.name) for column in columns if not column.primary_key)
    values = ", ".join(f"{name} = excluded.{name}" for name in others)
    insert: str = compiler.visit_insert(element, **kw)  # type: ignore[no-untyped-call]  # SQLAlchemy's
    return f"{insert} ON CONFLICT ({keys}) DO UPDATE SET {values}"
