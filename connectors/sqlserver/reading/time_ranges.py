"""A table whose partition function has dates or times for boundaries, as the catalog shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from connectors.rolling.ranges import Range, RangeTable, first_reason, instant_of
from connectors.sqlserver.reading.definition import DataSpace, Definition, find
from connectors.sqlserver.reading.keys import Name, name_of
from connectors.sqlserver.reading.partitioning import knowing, scheme_of
from connectors.sqlserver.session.sessions import ReadSession

_PLAIN = re.compile(r"(\w+)\.(\w+)")
_WHOLE_SECONDS = "%Y-%m-%dT%H:%M:%S"  # style 126, and what every language reads the same
_FORMATS = {"date": "%Y-%m-%d", **dict.fromkeys(("datetime", "datetime2", "smalldatetime"), _WHOLE_SECONDS)}


_WHOLE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.0+)?)?")
_BY_A_PERSON = "A person splits it in a quiet hour; from then on --ahead keeps the last one empty"


@dataclass(frozen=True, kw_only=True)
class PartitionedTable(RangeTable):
    """With what SQL Server needs to split the next partition off.

    The last partition of a function has no end. With RANGE RIGHT it is the last of ``ranges``, as long as the one
    before it: the next one begins where it would end.
    """

    scheme: DataSpace
    function: str
    column: str
    next_used: str  # filegroup that was NEXT USED before; "": none
    definition: Definition  # of the table's first partition

    @property
    def filled(self) -> tuple[tuple[int, Range], ...]:
        """Partitions with rows between two boundaries, with their numbers.

        Not the last one: it has no end and may still get rows, whatever its age.
        """
        index = self.definition.index
        rows = {} if index is None else {part.number: part.rows for part in index.partitions}
        closed = (each for each in enumerate(self.ranges, start=1) if each[0] < self.scheme.fanout)
        return tuple((number, each) for number, each in closed if each.low is not None and rows.get(number))

    def partition_key(self, number: int) -> str:
        """The key of a partition of the table."""
        return Name(self.schema, self.name, partition=number).key


def table_named(key: str) -> Name | None:
    """The table of a key, which may be without brackets; None where it is the key of no table."""
    plain = _PLAIN.fullmatch(key)
    try:
        name = Name(plain[1], plain[2]) if plain else name_of(key)
    except ValueError:
        return None
    return name if name == Name(name.schema, name.table) else None


def read_time_ranges(session: ReadSession, name: Name, to_space: str) -> PartitionedTable | str:
    """The partitioned table of that name, of which partitions are to be made in a filegroup; or why it is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    definition = knowing(session, find(session, replace(name, partition=1)))
    scheme = None if definition is None else scheme_of(definition)
    known = None if definition is None else definition.partitioning
    if definition is None or scheme is None or known is None or definition.index is None or scheme.function is None:
        return f"there is no partitioned table {name.key}"
    column = next((each.name for each in definition.index.columns if each.partition_ordinal > 0), "")
    kind = next((each.type_name for each in definition.columns if each.name == column), "")
    form = _FORMATS.get(kind, "")
    why_not = _why_not(name.key, kind, form, known.boundaries)
    if why_not:
        return why_not
    next_used = "" if scheme.next_used is None else definition.spaces[scheme.next_used].name
    table = PartitionedTable(
        key=name.key, schema=name.schema, name=name.table, time_format=form,
        ranges=_ranges(definition, scheme, name, known.boundaries), why_not="",
        why_no_more=_why_no_more(definition, scheme, name.key, to_space), scheme=scheme, function=scheme.function,
        column=column, next_used=next_used, definition=definition,
    )  # fmt: skip
    return _with_last(table) if scheme.on_right else table


def _why_not(key: str, kind: str, form: str, boundaries: tuple[str, ...]) -> str:
    if not form:
        return f"{key}: its boundaries are of {kind or 'an unknown type'}, not of dates or times"
    odd = next((each for each in boundaries if not _WHOLE.fullmatch(each)), "")
    return f"{key}: the boundary {odd} is no whole second" if odd else ""


def _ranges(definition: Definition, scheme: DataSpace, name: Name, boundaries: tuple[str, ...]) -> tuple[Range, ...]:
    """Those with an end."""
    sizes = {} if definition.index is None else {p.number: p.row_pages * 8192 for p in definition.index.partitions}
    return tuple(
        Range(
            id=0, schema=name.schema, name="", key=replace(name, partition=number).key,
            low=instant_of(low) if low else None, high=instant_of(high),
            space=definition.spaces[scheme.destinations[number]].name, size_bytes=sizes.get(number, 0),
        )
        for number, (low, high) in enumerate(pairwise(("", *boundaries)), start=1)
    )  # fmt: skip


def _with_last(table: PartitionedTable) -> PartitionedTable:
    """With the last partition as long as those before it; unchanged where these have no common length."""
    high = table.next_high
    if high is None:
        return table
    last = replace(table.ranges[-1], key=table.partition_key(table.scheme.fanout), low=table.ranges[-1].high, high=high)
    return replace(table, ranges=(*table.ranges, last))


def _why_no_more(definition: Definition, scheme: DataSpace, key: str, to_space: str) -> str:
    target, known, owner = definition.space_named(to_space), definition.partitioning, definition.owner
    aligned = [index for index in definition.indexes if index.space_id == scheme.number]
    rows = sum(p.rows for index in aligned for p in index.partitions if p.number == scheme.fanout)
    return first_reason(
        key,
        (owner.updateability != "READ_WRITE", f"the database is {owner.updateability} here"),
        (target is None, f"there is no filegroup {to_space}"),
        (target is not None and bool(target.read_only or not target.files), f"{to_space} is read-only or has no file"),
        (
            known is not None and known.shared,
            f"another table or scheme uses {scheme.function}, and would get a partition, too",
        ),
        (
            bool(owner.is_published or owner.is_merge_published),
            "it is published, and its subscribers' functions would stay as they are",
        ),
        (
            rows > 0,
            f"its last partition, {scheme.fanout}, has rows: SPLIT would write them, the table shut. {_BY_A_PERSON}",
        ),
    )
