"""T-SQL of moves of one partition by SPLIT and SWITCH. Pure; names that come in as text are quoted already."""

from __future__ import annotations

from collections.abc import Sequence

from connectors.sqlserver.reading.definition import Column
from connectors.sqlserver.reading.keys import Name, quote
from connectors.sqlserver.routes.ddl import quoted_table, type_of

_BEGIN = "SET XACT_ABORT ON; BEGIN TRANSACTION"  # whatever fails in between takes all of it back
_END = "COMMIT TRANSACTION"
REFUSED = 51000  # the number of an error that a statement of ours raises itself


def create_table(
    name: Name, columns: Sequence[Column], on: str, *, constraint: str = "", check: str = "", compression: str = ""
) -> str:
    """A table of those columns, types and NULLs stated.

    Args:
        name: of the table.
        columns: in order.
        on: a quoted filegroup.
        constraint: name of the CHECK, where there is one.
        check: the condition; "": none.
        compression: of a table that stays a heap.
    """
    parts = [_column(column) for column in columns]
    if check:
        parts.append(f"CONSTRAINT {quote(constraint)} CHECK ({check})")
    compressed = f" WITH (DATA_COMPRESSION = {compression})" if compression else ""
    return f"CREATE TABLE {quoted_table(name)} ({', '.join(parts)}) ON {on}{compressed}"


def drop_table(name: Name) -> str:
    """Whether it may be is for ``inspect()`` to say."""
    return f"DROP TABLE {quoted_table(name)}"


def merge(function: str, boundary: str) -> str:
    """The partition that holds the boundary goes, its filegroup with it."""
    return f"ALTER PARTITION FUNCTION {quote(function)}() MERGE RANGE ({boundary})"


def split(function: str, boundary: str) -> str:
    """The side that holds the boundary becomes a partition, in the filegroup that is NEXT USED."""
    return f"ALTER PARTITION FUNCTION {quote(function)}() SPLIT RANGE ({boundary})"


def next_used(scheme: str, space: str) -> str:
    """Where the next partition of the scheme will be."""
    return f"ALTER PARTITION SCHEME {quote(scheme)} NEXT USED {quote(space)}"


def empty(table: str, rows: str, reshape: str) -> str:
    """A range without rows in another filegroup; refused when rows have come meanwhile.

    Args:
        table: its name.
        rows: what is true of rows of that range.
        reshape: the statements that merge and split it.
    """
    # Locked to the end of the transaction: a row that came between the look and the SPLIT would have to be moved by it,
    # with the table shut.
    seen = f"SELECT 1 FROM {table} WITH (TABLOCKX, HOLDLOCK) WHERE {rows}"  # noqa: S608  # names are quoted
    refuse = f"IF EXISTS ({seen}) THROW {REFUSED}, N'hotplace: the partition is not empty any more', 1"
    return "; ".join((_BEGIN, refuse, reshape, _END))


def exchange(
    table: str,
    number: int,
    rows: str,
    columns: Sequence[str],
    *,
    new: str,
    old: str,
    reshape: str,
    patience: int | None,
) -> str:
    """Copy a partition, and let the copy take its place.

    Args:
        table: its name.
        number: of the partition.
        rows: what is true of its rows.
        columns: names, in order.
        new: the table for the copy, in the target.
        old: the table for the rows that it replaces, where they are.
        reshape: the statements that merge the emptied range and split it off again in the target.
        patience: minutes that the first SWITCH waits without holding others up; None: this version cannot.
    """
    names = ", ".join(quote(column) for column in columns)
    wait = "" if patience is None else f" WITH (WAIT_AT_LOW_PRIORITY ({_waits(patience)}))"
    source = f"FROM {table} WITH (TABLOCK, HOLDLOCK) WHERE {rows}"
    copy = f"INSERT INTO {new} WITH (TABLOCK) ({names}) SELECT {names} {source}"  # names are quoted
    short = f"(SELECT COUNT_BIG(*) FROM {new}) <> (SELECT COUNT_BIG(*) FROM {table} WHERE {rows})"  # noqa: S608  # quoted
    return "; ".join(
        (
            _BEGIN,
            copy,
            # Before SWITCH: behind it both tables are shut to readers to the end of the transaction. No row can come or
            # go meanwhile, the shared lock of the copy is held.
            f"IF {short} THROW {REFUSED}, N'hotplace: the copy has not as many rows as the partition', 1",
            f"ALTER TABLE {table} SWITCH PARTITION {number} TO {old}{wait}",
            reshape,
            f"ALTER TABLE {new} SWITCH TO {table} PARTITION {number}",
            _END,
        )
    )


def _waits(minutes: int) -> str:
    return f"MAX_DURATION = {minutes} MINUTES, ABORT_AFTER_WAIT = SELF"


def _column(column: Column) -> str:
    return f"{quote(column.name)} {type_of(column)} {'NULL' if column.nullable else 'NOT NULL'}"
