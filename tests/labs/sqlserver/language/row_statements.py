"""Statements about the rows of tables, and rights and properties of tables. What they do is in changes/rows.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp

from tests.labs.sqlserver.language.tokens import Parser
from tests.labs.tds.backend import ServerError

POLICIES_SINCE = 13
RIGHTS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES"})


@dataclass(frozen=True, slots=True)
class InsertRows:
    """INSERT INTO t (columns) SELECT TOP (n) ...: the number alone is looked at, and the text remembered."""

    table: tuple[str, str]
    columns: list[str]
    rows: int
    text: str


@dataclass(frozen=True, slots=True)
class UpdateRow:
    """UPDATE t SET column = column WHERE key = n: a write that leaves everything as it is."""

    table: tuple[str, str]
    columns: list[str]
    key: str
    value: int


@dataclass(frozen=True, slots=True)
class ReadRows:
    """SELECT COUNT_BIG(*) or CHECKSUM_AGG(...) AS name FROM t [WITH (HOLDLOCK)] [WHERE key = n]."""

    table: tuple[str, str]
    what: str
    name: str
    keep: bool
    key: str | None = None
    value: int = 0


@dataclass(frozen=True, slots=True)
class ReadPages:
    """SELECT SUM(LEN(column)) from a whole table, or from the rows of a join by their keys, through an index."""

    table: tuple[str, str]
    columns: list[str]
    name: str
    index: str = ""  # "": the table is scanned
    keys: str = ""  # a query of the keys that are looked up


@dataclass(frozen=True, slots=True)
class Grant:
    """GRANT right ON t TO somebody."""

    table: tuple[str, str]
    right: str
    grantee: str


@dataclass(frozen=True, slots=True)
class CreateRowFunction:
    """CREATE FUNCTION s.f (parameters) RETURNS TABLE ... AS RETURN SELECT ...: what it returns is not looked at."""

    name: tuple[str, str]


@dataclass(frozen=True, slots=True)
class CreatePolicy:
    """CREATE SECURITY POLICY s.p ADD FILTER PREDICATE s.f(column) ON s.t WITH (STATE = ON)."""

    name: tuple[str, str]
    function: tuple[str, str]
    column: str
    table: tuple[str, str]


@dataclass(frozen=True, slots=True)
class DropModule:
    """DROP FUNCTION or DROP SECURITY POLICY."""

    what: str
    name: tuple[str, str]


def create_row_function(parser: Parser, _: int) -> CreateRowFunction:
    """Behind CREATE FUNCTION."""
    name = parser.table()
    parser.need("(")
    parser.until(")")
    parser.need(")", "RETURNS", "TABLE")
    parser.take("WITH", "SCHEMABINDING")
    parser.need("AS", "RETURN")
    given = sqlglot.parse_one(parser.until(), read="tsql")
    if not isinstance(given, exp.Select):
        raise ServerError(102, "Incorrect syntax near 'RETURN'.", severity=15)
    return CreateRowFunction(name)


def create_policy(parser: Parser, major: int) -> CreatePolicy:
    """Behind CREATE SECURITY POLICY, known since 2016."""
    if major < POLICIES_SINCE:
        raise ServerError(
            343, "Unknown object type 'SECURITY' used in a CREATE, DROP, or ALTER statement.", severity=15
        )
    name = parser.table()
    parser.need("ADD", "FILTER", "PREDICATE")
    function = parser.table()
    (column,) = parser.names()
    parser.need("ON")
    table = parser.table()
    parser.need("WITH", "(", "STATE", "=", "ON", ")")
    return CreatePolicy(name, function, column, table)


def drop_module(what: str) -> Callable[[Parser, int], DropModule]:
    """Behind DROP FUNCTION or DROP SECURITY POLICY."""
    return lambda parser, _: DropModule(what, parser.table())


def insert_rows(parser: Parser, table: tuple[str, str]) -> InsertRows:
    """Behind INSERT INTO t."""
    columns = parser.names()
    parser.need("SELECT", "TOP", "(")
    rows = parser.number()
    parser.need(")")
    rest = parser.until()
    given = sqlglot.parse_one(f"SELECT {rest}", read="tsql")
    if not isinstance(given, exp.Select) or len(given.expressions) != len(columns):
        number, words = (120, "fewer") if len(getattr(given, "expressions", [])) < len(columns) else (121, "more")
        message = f"The select list for the INSERT statement contains {words} items than the insert list."
        raise ServerError(number, message, severity=15)
    return InsertRows(table, columns, rows, parser.sql)


def update_row(parser: Parser, _: int) -> UpdateRow:
    """Behind UPDATE."""
    table = parser.table()
    parser.need("SET")
    columns = []
    while True:
        column = parser.name()
        parser.need("=")
        if parser.name() != column:
            raise ServerError(50000, "the emulated server updates a column to itself only")
        columns.append(column)
        if not parser.take(","):
            break
    parser.need("WHERE")
    key, value = _row(parser)
    return UpdateRow(table, columns, key, value)


def _row(parser: Parser) -> tuple[str, int]:
    key = parser.name()
    parser.need("=")
    return key, parser.number()


def read_rows(sql: str) -> ReadRows | None:
    """The reading of a table's rows; None for a SELECT from anything else."""
    parser = Parser(sql)
    parser.need("SELECT")
    what = next((word for word in ("COUNT_BIG", "CHECKSUM_AGG") if parser.take(word, "(")), "")
    if not what:
        return None
    parser.until(")")
    parser.need(")", "AS")
    name = parser.name()
    parser.need("FROM")
    table = parser.table()
    if table[0].lower() in ("sys", "dbo"):
        return None
    keep = parser.take("WITH", "(", "HOLDLOCK", ")")
    key, value = _row(parser) if parser.take("WHERE") else (None, 0)
    parser.finish()
    return ReadRows(table, what, name, keep, key, value)


def read_pages(sql: str) -> ReadPages | None:
    """The reading of a table's pages under hints (rule 40); None for any other SELECT."""
    if "WITH (" not in sql or "INDEX(" not in sql:
        return None
    tree = sqlglot.parse_one(sql, read="tsql")
    tables = [each for each in tree.find_all(exp.Table) if each.args.get("hints")]
    if not isinstance(tree, exp.Select) or len(tables) != 1 or not isinstance(tree.selects[0], exp.Alias):
        return None
    (table,) = tables
    own = [column.name for column in tree.find_all(exp.Column) if column.table == table.alias and column.name]
    whole = ReadPages((table.db, table.name), own, tree.selects[0].alias)
    index = next(each for hints in table.args["hints"] for each in hints.find_all(exp.Anonymous)).expressions[0]
    if isinstance(index, exp.Literal):
        return whole
    (join,) = tree.args["joins"]
    key = join.args["on"].expression.copy()
    keys = exp.select(exp.alias_(key, "key_value")).from_(tree.args["from_"].this.copy())
    return replace(whole, index=index.name, keys=keys.sql(dialect="tsql"))


def grant(parser: Parser, _: int) -> Grant:
    """Behind GRANT."""
    right = parser.name().upper()
    if right not in RIGHTS:
        raise ServerError(50000, f"the emulated server grants {', '.join(sorted(RIGHTS))} only")
    parser.need("ON")
    table = parser.table()
    parser.need("TO")
    return Grant(table, right, parser.name())
