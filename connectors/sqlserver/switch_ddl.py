"""T-SQL of moves of one partition by SPLIT and SWITCH. Pure; names that come in as text are quoted already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.sqlserver.ddl import quoted_table, text, type_of
from connectors.sqlserver.definition import TableColumn
from connectors.sqlserver.keys import Name, quote

_BEGIN = "SET XACT_ABORT ON; BEGIN TRANSACTION"  # whatever fails in between takes all of it back
_END = "COMMIT TRANSACTION"
REFUSED = 51000  # the number of an error that a statement of ours raises itself
COPIED, UNTIL = "hotplace_rows", "hotplace_kept_until"  # extended properties of the table of the replaced rows
_BINARY = frozenset(
    {"char", "varchar", "nchar", "nvarchar", "datetimeoffset", "float", "real"}
)  # equal ones may differ


def create_table(
    name: Name, columns: Sequence[TableColumn], on: str, *, constraint: str = "", check: str = "", compression: str = ""
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


def drop_table(name: Name, *, kept: bool = False) -> str:
    """Drops what is empty, or has exactly the rows that its copy has been made of.

    Args:
        name: of a table that a move has made, and no policy binds.
        kept: only once the time has come until which its rows are kept.
    """
    later = f"{_rows_of(name)} > 0 AND {_kept_until(name)} > SYSUTCDATETIME()"
    until = [_refuse_if(later, f"{name.table} is kept until a later time")] if kept else []
    return "; ".join((_BEGIN, _refuse_uncounted(name), *until, f"DROP TABLE {quoted_table(name)}", _END))


def count_table(name: Name, seconds: float) -> str:
    """Compares the replaced rows with those of the copy, and notes how long they are kept from then on.

    Args:
        name: of the table that has them.
        seconds: how long they are kept.
    """
    until = f"CONVERT(nvarchar(30), DATEADD(second, {round(seconds)}, SYSUTCDATETIME()), 126)"
    noted = (f"DECLARE @hotplace_until nvarchar(30) = {until}", _note(name, UNTIL, "@hotplace_until"))
    return "; ".join((_BEGIN, _refuse_uncounted(name), *noted, _END))


def merge(function: str, boundary: str) -> str:
    """The partition that holds the boundary goes, its filegroup with it."""
    return f"ALTER PARTITION FUNCTION {quote(function)}() MERGE RANGE ({boundary})"


def split(function: str, boundary: str) -> str:
    """The side that holds the boundary becomes a partition, in the filegroup that is NEXT USED."""
    return f"ALTER PARTITION FUNCTION {quote(function)}() SPLIT RANGE ({boundary})"


def next_used(scheme: str, space: str) -> str:
    """Where the next partition of the scheme will be."""
    return f"ALTER PARTITION SCHEME {quote(scheme)} NEXT USED {quote(space)}"


def empty(name: Name, number: str, rows: str, reshape: str) -> str:
    """A range without rows in another filegroup; refused when rows have come meanwhile.

    Args:
        name: of the table.
        number: of the partition.
        rows: what is true of rows of that range.
        reshape: the statements that merge and split it.
    """
    # Locked to the end of the transaction: a row that came between the look and the SPLIT would have to be moved by it,
    # with the table shut. The storage is asked too: a security policy may hide rows from who looks.
    table = quoted_table(name)
    seen = f"EXISTS (SELECT 1 FROM {table} WITH (TABLOCKX, HOLDLOCK) WHERE {rows})"  # noqa: S608  # names are quoted
    stored = f"COALESCE({_stored_rows(name, number)}, 1) <> 0"
    refuse = _refuse_if(f"{seen} OR {stored}", "the partition is not empty any more")
    return "; ".join((_BEGIN, refuse, reshape, _END))


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One partition, its copy, and what takes the rows that the copy replaces."""

    table: str  # its quoted name
    number: int  # of the partition
    rows: str  # what is true of its rows
    columns: Sequence[TableColumn]
    new: Name  # the table for the copy, in the target
    old: Name  # the table for the rows that it replaces, where they are
    check: str  # the range as a condition
    patience: int | None  # minutes that the first SWITCH waits without holding others up; None: this version cannot

    @property
    def names(self) -> str:
        """Of the columns, in order."""
        return ", ".join(quote(column.name) for column in self.columns)

    @property
    def out(self) -> str:
        """The partition's rows to a table, behind ``SWITCH PARTITION n TO``."""
        wait = "" if self.patience is None else f" WITH (WAIT_AT_LOW_PRIORITY ({_waits(self.patience)}))"
        return f"ALTER TABLE {self.table} SWITCH PARTITION {self.number} TO {{}}{wait}"

    def into(self, name: Name) -> str:
        """The rows of a table into the partition."""
        return f"ALTER TABLE {quoted_table(name)} SWITCH TO {self.table} PARTITION {self.number}"


def exchange(part: Exchange, reshape: str) -> str:
    """Copy a partition, and let the copy take its place.

    How many rows were copied is noted with the table of those that it replaces; ``drop_table`` compares them.

    Args:
        part: with the tables.
        reshape: the statements that merge the emptied range and split it off again in the target.
    """
    new, old = quoted_table(part.new), quoted_table(part.old)
    source = f"FROM {part.table} WITH (TABLOCK, HOLDLOCK) WHERE {part.rows}"
    copy = f"INSERT INTO {new} WITH (TABLOCK) ({part.names}) SELECT {part.names} {source}"  # names are quoted
    # By the storage's counts, which no security policy filters as it filters the copy. Called approximate, so that the
    # originals are counted again before they go; but fast: behind SWITCH both tables are shut to readers.
    short = f"COALESCE({_stored_rows(part.old)}, -1) <> COALESCE({_stored_rows(part.new)}, -2)"
    return "; ".join(
        (
            _BEGIN,
            copy,
            "DECLARE @hotplace_rows bigint = ROWCOUNT_BIG()",
            _note(part.old, COPIED, "@hotplace_rows"),
            part.out.format(old),
            reshape,
            _refuse_if(
                short,
                "the storage does not count as many rows in the copy as in the partition: a security policy may hide "
                "some, or sys.dm_db_partition_stats is not exact (DBCC UPDATEUSAGE)",
            ),
            part.into(part.new),
            _END,
        )
    )


def switch_back(part: Exchange, reshape: str) -> str:
    """Let the replaced rows take their place again, where nothing has been written since: not a row is copied.

    Args:
        part: with the tables, as ``exchange`` had them.
        reshape: the statements that merge the emptied range and split it off again where it was.
    """
    new, old = quoted_table(part.new), quoted_table(part.old)
    read = f"(SELECT COUNT_BIG(*) FROM {part.table} WITH (TABLOCK, HOLDLOCK) WHERE {part.rows})"  # noqa: S608  # quoted
    values = ", ".join(_comparable(column) for column in part.columns)
    other = f"EXISTS (SELECT {values} FROM {part.table} WHERE {part.rows} EXCEPT SELECT {values} FROM {old})"  # noqa: S608  # quoted
    written = "rows were written since the copy took its place: they would be lost"
    unnoted = f"COALESCE({_copied_rows(part.old)}, -1)"
    return "; ".join(
        (
            _BEGIN,
            # The CHECK goes from the one to the other: SWITCH wants it where rows come from (4982), not where they go.
            f"ALTER TABLE {new} DROP CONSTRAINT {quote(range_of(part.new))}",
            f"ALTER TABLE {old} WITH CHECK ADD CONSTRAINT {quote(range_of(part.old))} CHECK ({part.check})",
            _refuse_if(f"{read} <> {unnoted}", written),
            _refuse_if(other, written),
            part.out.format(new),
            reshape,
            _refuse_if(f"COALESCE({_stored_rows(part.new)}, -2) <> {unnoted}", written),
            part.into(part.old),
            f"TRUNCATE TABLE {new}",
            _END,
        )
    )


def range_of(name: Name) -> str:
    """The CHECK constraint of a table that a move has made."""
    return f"{name.table}_range"


def _refuse_uncounted(name: Name) -> str:
    """Ends the transaction where a table has rows, and not as many as were copied. It stays locked."""
    lost = "has not as many rows as were copied: rows are missing where the copy is"
    return _refuse_if(f"{_rows_of(name)} NOT IN (0, COALESCE({_copied_rows(name)}, 0))", f"{name.table} {lost}")


def _refuse_if(condition: str, message: str) -> str:
    return f"IF {condition} THROW {REFUSED}, {text(f'hotplace: {message}')}, 1"


def _rows_of(name: Name) -> str:
    return f"(SELECT COUNT_BIG(*) FROM {quoted_table(name)} WITH (TABLOCKX, HOLDLOCK))"  # noqa: S608  # quoted


def _stored_rows(name: Name, number: str = "") -> str:
    """Rows of a table, or of one partition, by the storage's own count; NULL where this login may not see them."""
    mine = f"s.object_id = OBJECT_ID({text(quoted_table(name))}) AND s.index_id <= 1"
    mine += f" AND s.partition_number = {number}" if number else ""
    return f"(SELECT SUM(s.row_count) FROM sys.dm_db_partition_stats AS s WHERE {mine})"  # noqa: S608  # quoted


def _copied_rows(name: Name) -> str:
    """Rows that were copied; NULL: none were, or this login may not see it."""
    return f"(SELECT CONVERT(bigint, p.value) {_property(name, COPIED)})"


def _kept_until(name: Name) -> str:
    """The end of the time; far away as long as none is noted."""
    return f"COALESCE((SELECT CONVERT(datetime2, p.value) {_property(name, UNTIL)}), CONVERT(datetime2, N'9999-12-31'))"


def _property(name: Name, what: str) -> str:
    return (
        f"FROM sys.extended_properties AS p WHERE p.class = 1 AND p.major_id = OBJECT_ID({text(quoted_table(name))}) "
        f"AND p.minor_id = 0 AND p.name = {text(what)}"
    )


def _note(name: Name, what: str, value: str) -> str:
    return (
        f"EXEC sys.sp_addextendedproperty @name = {text(what)}, @value = {value}, @level0type = N'SCHEMA', "
        f"@level0name = {text(name.schema)}, @level1type = N'TABLE', @level1name = {text(name.table)}"
    )


def _comparable(column: TableColumn) -> str:
    """A value letter by letter: collations and offsets take different ones for equal."""
    name = quote(column.name)
    return f"CONVERT(varbinary(8000), {name})" if column.type_name in _BINARY else name


def _waits(minutes: int) -> str:
    return f"MAX_DURATION = {minutes} MINUTES, ABORT_AFTER_WAIT = SELF"


def _column(column: TableColumn) -> str:
    return f"{quote(column.name)} {type_of(column)} {'NULL' if column.nullable else 'NOT NULL'}"
