"""A table that is partitioned by ranges of dates or timestamps, as the catalog shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from connectors.db2.reading.names import Key, Part, parse_key
from connectors.db2.reading.storage import Storage, TableSpace
from connectors.db2.session.sessions import ReadSession, Row
from connectors.rolling.ranges import Range, RangeTable, first_reason, instant_of

DATE, TIMESTAMP = "%Y-%m-%d", "%Y-%m-%d %H:%M:%S"  # both are string representations that Db2 takes in any territory
_DATE = re.compile(r"'(\d{4}-\d\d-\d\d)'")
_TIMESTAMP = re.compile(r"'(\d{4}-\d\d-\d\d)[- ](\d\d)[.:](\d\d)[.:](\d\d)(?:\.0+)?'")
NORMAL, INCLUSIVE = "NORMAL", "Y"
_DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class PartitionedTable(RangeTable):
    """With the table space that its next partition is made in."""

    landing: str


def table_named(text: str) -> Key | None:
    """The table of a key; None where it is the key of none."""
    try:
        key = parse_key(text)
    except ValueError:
        return None
    return key if key == Key(Part.TABLE, key.schema, key.name) else None


def table_of(key: Key, rows: Sequence[Row], storage: Storage, landing: TableSpace) -> PartitionedTable | str:
    """The partitioned table with these partitions, of which more are to be made in a table space; or why it is none.

    Args:
        key: of the table.
        rows: of ``read_partitions``.
        storage: as it is now.
        landing: where the next partition goes.
    """
    kinds = {kind for row in rows for value in (row[5], row[7]) if (kind := _kind_of(str(value or "")))}
    ranges = tuple(found for row in rows if (found := range_of(key, row, storage)) is not None)
    if len(kinds) != 1 or not ranges:
        return f"{key}: no data partition of it is a range of one column of dates or timestamps"
    return PartitionedTable(
        key=str(key), schema=key.schema, name=key.name, time_format=kinds.pop(), ranges=ranges, why_not="",
        why_no_more=_why_no_more(str(key), rows, ranges, home_of(rows[-1], storage), landing), landing=landing.name,
    )  # fmt: skip


def read_partitions(session: ReadSession, key: Key) -> list[Row]:
    """The rows of ``sql/partition_ranges.sql``, in order of their ranges.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows("partition_ranges", (key.schema, key.name), doing=f"looking up the partitions of {key}")
    return sorted(rows, key=lambda row: int(row[3]))


def home_of(row: Row, storage: Storage) -> TableSpace | None:
    """The table space of a partition; None of one that has been detached."""
    return None if row[1] is None else storage.spaces.get(int(row[1]))


def range_of(key: Key, row: Row, storage: Storage) -> Range | None:
    """One partition; None where its bounds are no two times."""
    name, _, _, _, low_inclusive, low, high_inclusive, high = row
    begin, end = (_time_of(str(value or "")) for value in (low, high))
    if begin is None or end is None:
        return None
    days = _kind_of(str(low)) == DATE  # of which one that is included is one before the next
    if not days and (low_inclusive != INCLUSIVE or high_inclusive == INCLUSIVE):
        return None
    home = home_of(row, storage)
    return Range(
        id=0, schema=key.schema, name=str(name), key=str(Key(Part.TABLE, key.schema, key.name, str(name))),
        low=begin if low_inclusive == INCLUSIVE else begin + _DAY,
        high=end + _DAY if high_inclusive == INCLUSIVE else end,
        space="" if home is None else home.name, size_bytes=0,
    )  # fmt: skip


def _kind_of(value: str) -> str:
    return DATE if _DATE.fullmatch(value) else TIMESTAMP if _TIMESTAMP.fullmatch(value) else ""


def _time_of(value: str) -> datetime | None:
    if day := _DATE.fullmatch(value):
        return instant_of(day[1])
    found = _TIMESTAMP.fullmatch(value)
    return instant_of(f"{found[1]} {found[2]}:{found[3]}:{found[4]}") if found else None


def _why_no_more(
    key: str, rows: Sequence[Row], ranges: Sequence[Range], home: TableSpace | None, landing: TableSpace
) -> str:
    busy = next((f"{row[0]} is {row[2]}" for row in rows if str(row[2] or "").strip()), "")
    unlike = home is None or (
        (home.page_bytes, home.extent_pages, home.managed, home.partition_group)
        != (landing.page_bytes, landing.extent_pages, landing.managed, landing.partition_group)
    )
    return first_reason(
        key,
        (bool(busy), f"a data partition is being attached or detached: {busy}"),
        (
            len(ranges) < len(rows),
            "a data partition has no end, or bounds that are no half-open range: the next rows have a place, or a gap",
        ),
        (not landing.permanent or landing.state != NORMAL, f"{landing.name} takes no tables: {landing.state}"),
        (
            unlike,
            f"{landing.name} has other pages, extents, containers or database partitions than the last one (SQL1860N)",
        ),
    )
