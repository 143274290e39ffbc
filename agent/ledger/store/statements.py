"""Statements of Core as a driver takes them: made ready once, then run without Core's engine.

Core compiles a statement, and its types convert values and the columns of rows; the driver does the rest. A value that
is none of its column is damage: SQLite holds no column to its type. Core's own connection is left out: with it the
question that an agent asks once a second takes 54 microseconds in place of 17.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import lru_cache
from types import NoneType
from typing import Any, TypeAlias

from sqlalchemy import ClauseElement, Column, ColumnElement, Dialect, Float, Integer, LargeBinary, String, Table
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import SelectBase
from sqlalchemy.types import TypeEngine

from agent.ledger.errors import WrongKind

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
