"""Statements that change partitions and make the tables for it, taken apart. What they do is in partitions.py."""

from __future__ import annotations

from dataclasses import dataclass

from tests.labs.sqlserver.language.conditions import PartitionOf, read_partition
from tests.labs.sqlserver.language.options import Build, read_low_priority, read_options
from tests.labs.sqlserver.language.row_statements import InsertRows, insert_rows
from tests.labs.sqlserver.language.tokens import Parser
from tests.labs.sqlserver.objects import ColumnOf
from tests.labs.tds.backend import ServerError

LOW_PRIORITY_SINCE = 12
SIZED = frozenset({"char", "varchar", "binary", "varbinary", "nchar", "nvarchar"})
LENGTHS = {"int": 4, "bigint": 8, "date": 3, "smalldatetime": 4, "datetime": 8}
MOST_DIGITS = 7  # of a second, and what datetime2 has unless it says how many
COMPARISONS = (">=", "<=", ">", "<")
Side = tuple[tuple[str, str], int | None]  # a table and the partition of it
Limit = tuple[str, str, object]  # column, comparison, value; "IS NOT NULL" without one


SINGLE_PARTITIONS_SINCE = 13  # of TRUNCATE TABLE


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE (columns [, CONSTRAINT name CHECK (range)]) ON filegroup or scheme(column) [TEXTIMAGE_ON ...]."""

    table: tuple[str, str]
    columns: list[ColumnOf]
    limits: tuple[Limit, ...]
    space: str
    build: Build
    column: str | None = None  # that partitions it
    large: str | None = None  # TEXTIMAGE_ON
    check: str = ""  # name of the constraint that has the limits


@dataclass(frozen=True, slots=True)
class AddKey:
    """ALTER TABLE ... ADD CONSTRAINT ... PRIMARY KEY or UNIQUE."""

    table: tuple[str, str]
    name: str
    constraint: str
    clustered: bool
    keys: tuple[tuple[str, bool], ...]
    build: Build
    space: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class InsertSelect:
    """INSERT INTO ... SELECT ... FROM ... WHERE $PARTITION.f(column) = n, under a lock that is kept."""

    target: tuple[str, str]
    source: tuple[str, str]
    columns: list[str]
    rows: PartitionOf


@dataclass(frozen=True, slots=True)
class Switch:
    """ALTER TABLE ... SWITCH [PARTITION n] TO ... [PARTITION n]."""

    source: Side
    target: Side
    low_priority_minutes: int | None


@dataclass(frozen=True, slots=True)
class Reshape:
    """ALTER PARTITION FUNCTION f() SPLIT or MERGE RANGE (value)."""

    function: str
    action: str
    value: object


@dataclass(frozen=True, slots=True)
class NextUsed:
    """ALTER PARTITION SCHEME s NEXT USED [filegroup]; without one none is NEXT USED any more."""

    scheme: str
    filegroup: str | None


@dataclass(frozen=True, slots=True)
class AddCheck:
    """ALTER TABLE ... WITH CHECK ADD CONSTRAINT ... CHECK (range): rows that are there already are looked at."""

    table: tuple[str, str]
    name: str
    limits: tuple[Limit, ...]


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """ALTER TABLE ... DROP CONSTRAINT."""

    table: tuple[str, str]
    name: str


@dataclass(frozen=True, slots=True)
class Truncate:
    """TRUNCATE TABLE, since 2016 of single partitions, too; none named: of all."""

    table: tuple[str, str]
    partitions: tuple[int, ...] = ()


def create_table(parser: Parser, major: int) -> CreateTable:
    """Behind CREATE TABLE."""
    table = parser.table()
    parser.need("(")
    columns: list[ColumnOf] = []
    limits: tuple[Limit, ...] = ()
    check = ""
    while True:
        if parser.take("CONSTRAINT"):
            check, limits = _check(parser)
        else:
            columns.append(_column(parser, len(columns) + 1))
        if not parser.take(","):
            break
    parser.need(")", "ON")
    space = parser.name()
    column = parser.names()[0] if parser.peek("(") else None
    large = parser.name() if parser.take("TEXTIMAGE_ON") else None
    return CreateTable(table, columns, limits, space, read_options(parser, major), column, large, check)


def _check(parser: Parser) -> tuple[str, tuple[Limit, ...]]:
    """Behind CONSTRAINT."""
    name = parser.name()
    parser.need("CHECK", "(")
    limits = _limits(parser)
    parser.need(")")
    return name, limits


def _column(parser: Parser, number: int) -> ColumnOf:
    name, kind = parser.name(), parser.name().lower()
    length, digits = _moment(parser) if kind == "datetime2" else (_length(parser, kind), 0)
    if not length:
        raise ServerError(2715, f"Column, parameter, or variable #{number}: Cannot find data type {kind}.")
    if parser.take("COLLATE"):
        parser.name()
    nullable = not parser.take("NOT")
    parser.need("NULL")
    return ColumnOf(number, name, kind, length, nullable=nullable, scale=digits)


def _length(parser: Parser, kind: str) -> int:
    """Bytes; 0: there is no such type."""
    if kind not in SIZED or not parser.take("("):
        return LENGTHS.get(kind, 0)
    length = -1 if parser.take("MAX") else parser.number() * (2 if kind.startswith("n") else 1)
    parser.need(")")
    return length


def _moment(parser: Parser) -> tuple[int, int]:
    """Bytes of datetime2, and its digits."""
    digits = MOST_DIGITS
    if parser.take("("):
        digits = parser.number()
        parser.need(")")
    return (0 if digits > MOST_DIGITS else 6 + (digits > 2) + (digits > 4)), digits


def _limits(parser: Parser) -> tuple[Limit, ...]:
    found: list[Limit] = []
    while True:
        column = parser.name()
        if parser.take("IS", "NOT", "NULL"):
            found.append((column, "IS NOT NULL", None))
        else:
            sign = next((sign for sign in COMPARISONS if parser.take(sign)), "")
            if not sign:
                raise parser.near()
            found.append((column, sign, _constant(parser)))
        if not parser.take("AND"):
            return tuple(found)


def _constant(parser: Parser) -> object:
    if parser.peek("-"):
        return parser.number()
    piece = parser.next("string", "number")
    return int(piece.text) if piece.kind == "number" else piece.text


def alter_table(parser: Parser, major: int) -> AddKey | AddCheck | DropConstraint | Switch:
    """Behind ALTER TABLE."""
    table = parser.table()
    if parser.take("WITH", "CHECK", "ADD", "CONSTRAINT"):
        return AddCheck(table, *_check(parser))
    if parser.take("DROP", "CONSTRAINT"):
        return DropConstraint(table, parser.name())
    if parser.take("ADD", "CONSTRAINT"):
        return _add_key(parser, major, table)
    parser.need("SWITCH")
    source = parser.number() if parser.take("PARTITION") else None
    parser.need("TO")
    other = parser.table()
    target = parser.number() if parser.take("PARTITION") else None
    minutes = None
    if parser.take("WITH", "("):
        if major < LOW_PRIORITY_SINCE:
            raise ServerError(155, "'WAIT_AT_LOW_PRIORITY' is not a recognized option.", severity=15)
        minutes = read_low_priority(parser)
        parser.need(")")
    return Switch((table, source), (other, target), minutes)


def _add_key(parser: Parser, major: int, table: tuple[str, str]) -> AddKey:
    name = parser.name()
    unique = parser.take("UNIQUE")
    if not unique:
        parser.need("PRIMARY", "KEY")
    clustered = parser.take("CLUSTERED")
    if not clustered:
        parser.need("NONCLUSTERED")
    keys = parser.keys()
    build = read_options(parser, major)
    parser.need("ON")
    space = parser.name()
    column = parser.names()[0] if parser.peek("(") else None
    return AddKey(table, name, "UQ" if unique else "PK", clustered, keys, build, space, column)


def insert_select(parser: Parser, _: int) -> InsertSelect | InsertRows:
    """Behind INSERT INTO."""
    target = parser.table()
    if parser.peek("("):
        return insert_rows(parser, target)
    parser.need("WITH", "(", "TABLOCK", ")")
    into = parser.names()
    parser.need("SELECT")
    chosen = [parser.name()]
    while parser.take(","):
        chosen.append(parser.name())
    if into != chosen:
        raise ServerError(50000, "the emulated server copies columns of the same names only")
    parser.need("FROM")
    source = parser.table()
    parser.need("WITH", "(", "TABLOCK", ",", "HOLDLOCK", ")", "WHERE")
    return InsertSelect(target, source, chosen, read_partition(parser))


def truncate(parser: Parser, major: int) -> Truncate:
    """Behind TRUNCATE TABLE."""
    table = parser.table()
    if major < SINGLE_PARTITIONS_SINCE or not parser.take("WITH", "(", "PARTITIONS", "("):
        return Truncate(table)
    numbers = [parser.number()]
    while parser.take(","):
        numbers.append(parser.number())
    parser.need(")", ")")
    return Truncate(table, tuple(numbers))


def alter_function(parser: Parser, _: int) -> Reshape:
    """Behind ALTER PARTITION FUNCTION."""
    name = parser.name()
    parser.need("(", ")")
    action = "SPLIT" if parser.take("SPLIT") else "MERGE"
    if action == "MERGE":
        parser.need("MERGE")
    parser.need("RANGE", "(")
    value = _constant(parser)
    parser.need(")")
    return Reshape(name, action, value)


def alter_scheme(parser: Parser, _: int) -> NextUsed:
    """Behind ALTER PARTITION SCHEME."""
    name = parser.name()
    parser.need("NEXT", "USED")
    return NextUsed(name, None if parser.ended else parser.name())
