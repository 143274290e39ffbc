"""The part of a partitioned table that has no end, as a split leaves it: rows of any later value find it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from connectors.postgresql.moving.split_table import Column, Table, read_table, refuse_foreign_type
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession

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
    whole: Table
    part: Table | None  # None: all parts have an end

    @property
    def column(self) -> Column | None:
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


def lies_behind(session: ReadSession, column: Column, low: str, border: str) -> bool:
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
