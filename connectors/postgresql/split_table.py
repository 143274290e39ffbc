"""A table that is split or to be split, as the catalog has it.

A table as the catalog has it, with everything that a split has to carry over or to refuse.

The part of a partitioned table that has no end, as a split leaves it: rows of any later value find it.

How many rows of a table lie from a border on, by the server's statistics.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from psycopg import sql
from pydantic import BaseModel, ConfigDict

from connectors.kit.contract import StatementFailed
from connectors.model.moves import NoRoute
from connectors.postgresql.sessions import ReadSession, name_of, query

FOREIGN_TYPE = "{} is of the type {}, and only values of the server's own types are compared"
_DATA = "22"  # class of states: a value that cannot be
TIMES = "timestamp", "date"  # how the names of types begin whose values a clock reaches


class _Part(BaseModel):
    """A part of ``sql/split_table.sql``, its keys the fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Grant(_Part):
    """One privilege that one role has."""

    grantor: str
    grantee: str | None  # None: PUBLIC
    privilege: str
    grantable: bool
    column: str | None  # None: on all of it


class SplitColumn(_Part):
    """One column that was not dropped."""

    number: int
    name: str
    type: str
    built_in: bool  # the type is the server's own: to read one of another can run its owner's code
    not_null: bool
    identity: str  # pg_attribute.attidentity: a always, d by default
    generated: str
    statistics: int | None
    options: tuple[str, ...]
    analyzed: bool  # there are statistics of its values that this login may see


class TableConstraint(_Part):
    """One constraint of any kind."""

    name: str
    type: str  # pg_constraint.contype
    definition: str
    valid: bool
    no_inherit: bool
    comment: str | None


class TableIndex(_Part):
    """One index, that of a key included."""

    name: str
    definition: str
    unique: bool
    valid: bool
    replica_identity: bool
    key: tuple[int, ...]  # numbers of its key columns; 0: an expression
    constraint: str | None  # of the same name; None: a plain index
    constraint_definition: str | None
    bytes: int
    options: tuple[str, ...]
    statistics: bool
    comment: str | None
    constraint_comment: str | None


class Policy(_Part):
    """One row-level policy."""

    name: str
    permissive: bool
    command: str  # pg_policy.polcmd
    roles: tuple[str | None, ...]  # None: PUBLIC
    using: str | None
    check: str | None
    comment: str | None


class TableSequence(_Part):
    """A sequence that belongs to a column."""

    column: str
    schema_: str
    name: str
    identity: bool  # False: as of a serial column
    type: str
    start: int
    increment: int
    least: int
    most: int
    cache: int
    cycle: bool
    last: int | None  # value that was given last; None: none yet, or this login may not know
    granted: bool
    grants: tuple[Grant, ...]
    used_elsewhere: bool
    comment: str | None


class SplitTable(_Part):
    """One table."""

    oid: int
    schema_: str
    name: str
    owner: str
    kind: str  # pg_class.relkind
    persistence: str
    partition: bool
    typed: bool
    inherits: bool
    rules: tuple[str, ...]
    triggers: tuple[str, ...]
    unheld_keys: tuple[str, ...] = ()  # foreign keys whose triggers, which are the server's own, are switched off
    publications: tuple[str, ...]
    subscriptions: tuple[str, ...] = ()  # that write into it
    readers: tuple[str, ...] = ()  # logical slots by whose plugin every table's changes are read
    incoming_keys: tuple[str, ...]
    dependents: tuple[str, ...]  # views, functions and whatever else the server knows to depend on it
    extension: str | None
    statistics: tuple[str, ...]
    foreign_code: tuple[str, ...]  # functions and operators of users in indexes, constraints and statistics
    labels: bool
    replica_identity: str
    row_security: bool
    forced_row_security: bool
    options: tuple[str, ...]
    toast_options: tuple[str, ...]
    access_method: str | None
    comment: str | None
    bytes: int  # indexes included
    heap_bytes: int
    granted: bool  # False: the privileges that every new table has
    grants: tuple[Grant, ...]
    columns: tuple[SplitColumn, ...]
    constraints: tuple[TableConstraint, ...]
    indexes: tuple[TableIndex, ...]
    policies: tuple[Policy, ...]
    sequences: tuple[TableSequence, ...]
    inserts_per_second: float | None
    taken: tuple[str, ...]  # names of its schema that end like those of parts


def read_table(session: ReadSession, key: str) -> SplitTable | None:
    """The table of that key; None where there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    try:
        rows = session.rows(query("split_table"), {"key": key}, doing=f"reading the definition of {key}")
    except UnicodeDecodeError as error:  # of a database in SQL_ASCII; it is read whole or not at all
        raise StatementFailed(
            f"reading the definition of {key}: it has a name, a default or a condition that is not UTF-8",
            advice="Rename it, or leave the table whole: moves as a whole do not need its definition.",
        ) from error
    return SplitTable.model_validate(rows[0][0]) if rows else None


@dataclass(frozen=True, slots=True)
class BorderValue:
    """A border as the server has it."""

    text: str  # as it writes it
    seconds_ahead: float | None  # until a clock reaches it; None: it is no time


def read_border(session: ReadSession, column: SplitColumn, value: str) -> BorderValue:
    """The value as one of that column's type. Reads no table.

    Raises:
        StatementFailed: it is none, or the type is not one of the server's own.
        ConnectorError: another subclass that says what may be done.
    """
    refuse_foreign_type(column)
    # The name of a type cannot be bound; format_type has written and quoted it.
    cast = f"CAST(%(value)s::text AS {column.type.replace('%', '%%')})"
    ahead = f"extract(epoch FROM {cast} - now())::float8" if column.type.startswith(TIMES) else "NULL::float8"
    rows = session.rows(
        f"SELECT {cast}::text, {ahead}".encode(), {"value": value}, doing=f"reading a border as {column.type}"
    )
    return BorderValue(*rows[0])


def read_asked_border(session: ReadSession, column: SplitColumn, value: str) -> BorderValue | NoRoute:
    """The value that a person has asked for; a reason where it is none of that column's type.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    try:
        return read_border(session, column, value)
    except StatementFailed as error:
        if not error.native_code.startswith(_DATA):
            raise
        return NoRoute(code="border", sentence=f"{value!r} is no value of {column.name}, whose type is {column.type}")


def refuse_foreign_type(column: SplitColumn) -> None:
    """Let no text be read as a type of a user: the check of a domain would run with this login's rights.

    Raises:
        StatementFailed: the type is not one of the server's own.
    """
    if not column.built_in:
        raise StatementFailed(FOREIGN_TYPE.format(column.name, column.type), advice="Choose another column.")


def seconds_until(table: SplitTable, column: SplitColumn, border: BorderValue) -> float | None:
    """How long until new rows reach the border: by the clock, or by the column's sequence; None: not known.

    No row is read for it.
    """
    if border.seconds_ahead is not None:
        return border.seconds_ahead
    sequence = next((each for each in table.sequences if each.column == column.name), None)
    if sequence is None or sequence.last is None or sequence.increment <= 0:
        return None
    left = (float(border.text) - sequence.last) / sequence.increment
    return left if left <= 0 else left / table.inserts_per_second if table.inserts_per_second else None


# A quoted text, or a number, as pg_get_expr prints the end of a range.
_TEXT, _NUMBER = re.compile(r"'((?:[^'\\]|'')*)'"), re.compile(r"[0-9.]+")
_COLLATED = "text", "character"  # how the names of types begin whose order is that of a collation


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionKey:
    """What the rows of a table are partitioned by, and its open part as far as it has one."""

    strategy: str  # pg_partitioned_table.partstrat
    columns: int
    column: str  # "": an expression
    has_default: bool
    schema: str  # of the open part, as all that follows
    name: str  # "": all parts have an end
    key: str
    kind: str  # pg_class.relkind
    low: str  # where it begins, as text that the server reads as the column's type; "": it has no beginning
    space: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPart:
    """Both tables as their definitions are."""

    by: PartitionKey
    whole: SplitTable
    part: SplitTable | None  # None: all parts have an end

    @property
    def column(self) -> SplitColumn | None:
        """That the table is partitioned by; None: an expression."""
        return next((each for each in self.whole.columns if each.name == self.by.column), None)


def read_open_part(session: ReadSession, key: str) -> OpenPart | None:
    """What is known of the partitioned table of that key; None where there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("open_part"), {"key": key}, doing=f"looking for the open part of {key}")
    whole = read_table(session, key) if rows else None
    if whole is None:
        return None
    strategy, columns, column, has_default, schema, name, part, kind, low, space = rows[0]
    by = PartitionKey(
        strategy=strategy, columns=columns, column=column, has_default=has_default, schema=schema or "",
        name=name or "", key=part or "", kind=kind or "", low=value_of_bound(low or ""), space=space or "",
    )  # fmt: skip
    return OpenPart(by=by, whole=whole, part=read_table(session, part) if part else None)


def value_of_bound(printed: str) -> str:
    """The value in a printed end of a range; "" where it is none that is quoted again without loss.

    >>> value_of_bound("'it''s'"), value_of_bound("500000"), value_of_bound("MINVALUE")
    ("it's", '500000', '')
    """
    found = _TEXT.fullmatch(printed)
    if found is None:
        return printed if _NUMBER.fullmatch(printed) else ""
    value = found[1].replace("''", "'")
    return value if value == value.strip("'") else ""


def lies_behind(session: ReadSession, column: SplitColumn, low: str, border: str) -> bool:
    """Whether a border is a later value of that column than the one where the part begins. Reads no table.

    Raises:
        StatementFailed: it is no value of it, or its type is not one of the server's own.
        ConnectorError: another subclass that says what may be done.
    """
    refuse_foreign_type(column)
    kind, orders = column.type.replace("%", "%%"), [""]
    if kind.startswith(_COLLATED):  # the partitions have the order of the one or the other, or are not trusted
        orders.append(' COLLATE "C"')
    later = (f"CAST(%(border)s::text AS {kind}) > CAST(%(low)s::text AS {kind}){each}" for each in orders)
    rows = session.rows(
        f"SELECT {' AND '.join(later)}".encode(), {"low": low, "border": border},
        doing=f"comparing borders as {column.type}",
    )  # fmt: skip
    return bool(rows[0][0])


LEAST_SHARE = 0.001  # the planner hardly says fewer than a ten-thousandth: nothing may be there
_NO_ROW = 1.0  # as the planner writes it


def read_present_share(session: ReadSession, table: SplitTable, column: SplitColumn, border: str) -> float | None:
    """Share of the table's rows from the border on, 0 to 1, as the planner estimates it; reads no row.

    None: the column has no statistics that this login may see, or to plan a query would run code of users.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if not column.analyzed or table.foreign_code:
        return None
    value = sql.SQL("{}::{}").format(sql.Literal(border), sql.SQL(column.type))
    condition = sql.SQL("{} >= {}").format(sql.Identifier(column.name), value)
    beyond, all_rows = (_planned_rows(session, table, each) for each in (condition, sql.SQL("true")))
    return 0.0 if beyond <= _NO_ROW else min(1.0, beyond / all_rows)


def _planned_rows(session: ReadSession, table: SplitTable, condition: sql.Composable) -> float:
    text = query("split_rows")
    parts = {"table": sql.Identifier(table.schema_, table.name), "condition": condition}
    statement = sql.SQL(text.decode()).format(**parts).as_bytes(None)
    rows = session.rows(statement, doing=f"estimating rows of {table.name}", name=name_of(text))
    return float(rows[0][0][0]["Plan"]["Plan Rows"])
