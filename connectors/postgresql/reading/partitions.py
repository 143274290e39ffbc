"""A table that is partitioned by time, as the catalog shows it: its ranges, in order, and where each partition is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession

RANGE, TABLE = "r", "r"  # pg_partitioned_table.partstrat; pg_class.relkind
# As pg_get_expr prints it, with DateStyle ISO: the texts are literals of the column's type.
_BOUND = re.compile(r"FOR VALUES FROM \('([^']+)'\) TO \('([^']+)'\)")
_FORMATS = {
    "date": "%Y-%m-%d",
    "timestamp without time zone": "%Y-%m-%d %H:%M:%S",
    "timestamp with time zone": "%Y-%m-%d %H:%M:%S+00",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """One partition and the times of its rows."""

    oid: int
    schema: str
    name: str
    key: str
    low: datetime
    high: datetime  # the first instant that is not in it
    space: str
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class PartitionedTable:
    """A partitioned table and as many of its partitions as are ranges of one column of times."""

    key: str
    schema: str
    name: str
    owner: str
    type: str  # of the column
    ranges: tuple[Range, ...]  # by their times
    why_not: str  # why it cannot be served by the calendar, one sentence without a full stop; "": it can
    why_no_more: str  # why it gets no further partition; "": it does

    def literal(self, at: datetime) -> str:
        """An instant as a text of the column's type."""
        return at.astimezone(UTC).strftime(_FORMATS[self.type])

    @cached_property
    def next_high(self) -> datetime | None:
        """Where the range behind the last one ends, as long as those before it are; None: they have no common length.

        Calendar months count as of one length.
        """
        if not self.ranges:
            return None
        last = self.ranges[-1]
        if all(_is_month(each) for each in self.ranges[-2:]):
            return _next_month(last.high)
        widths = {each.high - each.low for each in self.ranges[-2:]}
        return last.high + widths.pop() if len(widths) == 1 else None


def read_partitions(session: ReadSession, key: str, space: str) -> PartitionedTable | None:
    """The partitioned table of that key, of which partitions are to go to a space; None where there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("partitions"), {"key": key, "space": space}, doing=f"looking up the partitions of {key}")
    if not rows:
        return None
    schema, name, owner, strategy, columns, kind, has_default, may_create = rows[0][:8]
    found = [_range(row[8:]) for row in rows if row[8] is not None]
    ranges = sorted((each for each in found if each is not None), key=lambda each: each.low)
    why_not = _first(
        key,
        (strategy != RANGE or columns != 1, "it is not partitioned by ranges of one column"),
        (kind not in _FORMATS, f"its ranges are of {kind or 'an expression'}, not of dates or times"),
        (may_create is None, f"there is no tablespace {space}"),
        (not ranges, "no partition of it is a table with a beginning and an end"),
    )
    why_no_more = _first(
        key,
        (has_default, "it has a default partition, which would be scanned under a lock for each new one"),
        (len(ranges) < len(found), "not all of its partitions are tables with a beginning and an end"),
        (may_create is False, f"its owner {owner} may not create in {space}: GRANT CREATE ON TABLESPACE"),
    )
    return PartitionedTable(
        key=key, schema=schema, name=name, owner=owner, type=kind, ranges=tuple(ranges),
        why_not=why_not, why_no_more=why_not or why_no_more,
    )  # fmt: skip


def _first(key: str, *reasons: tuple[bool, str]) -> str:
    return next((f"{key}: {why}" for applies, why in reasons if applies), "")


def _range(row: tuple[object, ...]) -> Range | None:
    """One partition; None where its bounds are no two times, or it is partitioned in its turn."""
    oid, schema, name, key, kind, bound, space, size = row
    found = _BOUND.fullmatch(str(bound))
    if found is None or kind != TABLE:
        return None
    try:
        low, high = (_instant(text) for text in found.groups())
    except ValueError:  # infinity, or another DateStyle
        return None
    return Range(
        oid=int(str(oid)), schema=str(schema), name=str(name), key=str(key), low=low, high=high, space=str(space),
        size_bytes=int(str(size or 0)),
    )  # fmt: skip


def _instant(text: str) -> datetime:
    """A literal as an instant; those without a zone count as UTC."""
    at = datetime.fromisoformat(text)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _is_month(each: Range) -> bool:
    return each.low.replace(day=1, hour=0, minute=0, second=0, microsecond=0) == each.low and each.high == _next_month(
        each.low
    )


def _next_month(at: datetime) -> datetime:
    return at.replace(year=at.year + at.month // 12, month=at.month % 12 + 1)
