"""IF ... THROW, taken apart: what it asks of the rows of tables, and the rest, which views answer.

Rows are numbers here: COUNT_BIG(*) of a table or of one partition, whether there is any, and whether a partition holds
a row that another table lacks. What is in front of THROW otherwise is a condition over documented views.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.labs.sqlserver.language.tokens import Parser
from tests.labs.tds.backend import ServerError

LOCKING = frozenset({"TABLOCK", "TABLOCKX", "HOLDLOCK"})
Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PartitionOf:
    """$PARTITION.f(column) = n."""

    function: str
    column: str
    number: int


@dataclass(frozen=True, slots=True)
class RowsOf:
    """(SELECT COUNT_BIG(*) FROM t [WITH (...)] [WHERE $PARTITION...]), or EXISTS (SELECT 1 FROM ...)."""

    table: Name
    hints: frozenset[str]
    part: PartitionOf | None
    any: bool = False


@dataclass(frozen=True, slots=True)
class Unlike:
    """EXISTS (SELECT ... FROM t WHERE $PARTITION... EXCEPT SELECT ... FROM other): the same columns of both."""

    table: Name
    part: PartitionOf
    other: Name


Question = RowsOf | Unlike


@dataclass(frozen=True, slots=True)
class RefuseIf:
    """IF condition THROW number, message, state. ``parts``: texts as they stand, and questions to tables."""

    parts: tuple[str | Question, ...]
    error: ServerError


def refuse_if(parser: Parser, _: int) -> RefuseIf:
    """Behind IF."""
    parts: list[str | Question] = []
    while not parser.peek("THROW"):
        if parser.ended:
            raise parser.near()
        parts.append(_question(parser) or parser.raw())
    return RefuseIf(tuple(parts), _throw(parser))


def read_partition(parser: Parser) -> PartitionOf:
    """$PARTITION.f(column) = n."""
    parser.need("$PARTITION", ".")
    function = parser.name()
    parser.need("(")
    column = parser.name()
    parser.need(")", "=")
    return PartitionOf(function, column, parser.number())


def _question(parser: Parser) -> Question | None:
    if parser.take("(", "SELECT", "COUNT_BIG", "(", "*", ")", "FROM"):
        return _rows(parser)
    if not parser.take("EXISTS", "(", "SELECT"):
        return None
    chosen = parser.until("FROM")
    parser.need("FROM")
    return _rows(parser, any_row=True) if chosen == "1" else _unlike(parser, chosen)


def _rows(parser: Parser, *, any_row: bool = False) -> RowsOf:
    table, hints = parser.table(), read_hints(parser)
    part = read_partition(parser) if parser.take("WHERE") else None
    parser.need(")")
    return RowsOf(table, hints, part, any_row)


def read_hints(parser: Parser) -> frozenset[str]:
    """WITH (TABLOCK, HOLDLOCK), where it is there."""
    if not parser.take("WITH"):
        return frozenset()
    found = frozenset(name.upper() for name in parser.names())
    if wrong := found - LOCKING:
        raise ServerError(321, f'"{sorted(wrong)[0]}" is not a recognized table hints option.', severity=15)
    return found


def _unlike(parser: Parser, chosen: str) -> Unlike:
    table = parser.table()
    parser.need("WHERE")
    part = read_partition(parser)
    parser.need("EXCEPT", "SELECT")
    if parser.until("FROM") != chosen:
        raise ServerError(50000, "the emulated server compares the same columns of both tables only")
    parser.need("FROM")
    other = parser.table()
    parser.need(")")
    return Unlike(table, part, other)


def _throw(parser: Parser) -> ServerError:
    parser.need("THROW")
    number = parser.number()
    parser.need(",")
    message = parser.next("string").text
    parser.need(",")
    return ServerError(number, message, state=parser.number())
