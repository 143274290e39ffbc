"""A table as the catalog has it, with everything that a split has to carry over or to refuse."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from connectors.base import StatementFailed
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession

FOREIGN_TYPE = "{} is of the type {}, and only values of the server's own types are compared"
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


class Column(_Part):
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


class Table(_Part):
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
    columns: tuple[Column, ...]
    constraints: tuple[TableConstraint, ...]
    indexes: tuple[TableIndex, ...]
    policies: tuple[Policy, ...]
    sequences: tuple[TableSequence, ...]
    inserts_per_second: float | None
    taken: tuple[str, ...]  # names of its schema that end like those of parts


def read_table(session: ReadSession, key: str) -> Table | None:
    """The table of that key; None where there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("split_table"), {"key": key}, doing=f"reading the definition of {key}")
    return Table.model_validate(rows[0][0]) if rows else None


@dataclass(frozen=True, slots=True)
class BorderValue:
    """A border as the server has it."""

    text: str  # as it writes it
    seconds_ahead: float | None  # until a clock reaches it; None: it is no time


def read_border(session: ReadSession, column: Column, value: str) -> BorderValue:
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


def refuse_foreign_type(column: Column) -> None:
    """Let no text be read as a type of a user: the check of a domain would run with this login's rights.

    Raises:
        StatementFailed: the type is not one of the server's own.
    """
    if not column.built_in:
        raise StatementFailed(FOREIGN_TYPE.format(column.name, column.type), advice="Choose another column.")


def seconds_until(table: Table, column: Column, border: BorderValue) -> float | None:
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
