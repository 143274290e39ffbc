"""Parts of statements that SQLAlchemy's Core has no word for, compiled for SQLite and for PostgreSQL.

Statements are built once, as constants of the modules that use them; the values are given when they are carried out
(``given``, ``one_of``). To build one anew takes longer than to carry it out.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Dialect,
    Insert,
    Integer,
    Text,
    TypeDecorator,
    bindparam,
    func,
    literal_column,
    type_coerce,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement
from sqlalchemy.types import TypeEngine

from agent.ledger.store.schema import Whole

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
    return bindparam(name, type_=_compared(column))


def one_of(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a column has one of the values that are given as ``some``, of which a statement takes some thousands."""
    return column.in_(bindparam(SOME, expanding=True, type_=_compared(column)))


def among(column: ColumnElement[Any], values: Collection[StrEnum]) -> ColumnElement[bool]:
    """Whether a column has one of some states, which are words of ours: they are part of the text."""
    # Given as values like all others, ten states took as long as the rest of a question that is asked once a second.
    return column.in_([literal_column(f"'{value}'", column.type) for value in sorted(values)])


def _compared(column: ColumnElement[Any]) -> TypeEngine[Any]:
    return Whole() if isinstance(column.type, Integer) else column.type


# -- conditions ------------------------------------------------------------------------------------------------------


class unindexed(FunctionElement[Any]):  # noqa: N801  # read as a function, as Core's own are
    """A column of which SQLite uses no index: for conditions that only sift what another condition has found.

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
def _unindexed(element: unindexed, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401  # SQLAlchemy's signature
    return f"+{compiler.process(element.clauses, **kw)}"


@compiles(unindexed, _POSTGRESQL)
def _indexed(element: unindexed, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401
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
    # +: else SQLite looks for an index by the pattern that is given, and plans the statement anew each time.
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
