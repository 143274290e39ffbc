"""A table that is partitioned by time, as the catalog shows it: its ranges, in order, and where each partition is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession
from connectors.rolling.ranges import Range, RangeTable, first_reason, instant_of

RANGE, TABLE = "r", "r"  # pg_partitioned_table.partstrat; pg_class.relkind
# As pg_get_expr prints it, with DateStyle ISO: the texts are literals of the column's type.
_BOUND = re.compile(r"FOR VALUES FROM \((?:'([^']+)'|MINVALUE)\) TO \('([^']+)'\)")
_NO_END = "TO (MAXVALUE)"
_WITHOUT_END = (
    "its last partition {} has no end, as a split leaves it: `hotplace rules propose --table --close` gives it one and "
    "makes the next without an end, again and again (Split a table: Partitions after it)"
)
FORMATS = {
    "date": "%Y-%m-%d",
    "timestamp without time zone": "%Y-%m-%d %H:%M:%S",
    "timestamp with time zone": "%Y-%m-%d %H:%M:%S+00",
}


@dataclass(frozen=True, kw_only=True)
class PartitionedTable(RangeTable):
    """With what PostgreSQL needs to make a partition of it."""

    owner: str


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
    endless = next((str(row[10]) for row in rows if str(row[13]).endswith(_NO_END)), "")
    ranges = sorted((each for each in found if each is not None), key=lambda each: each.high)
    why_not = first_reason(
        key,
        (strategy != RANGE or columns != 1, "it is not partitioned by ranges of one column"),
        (kind not in FORMATS, f"its ranges are of {kind or 'an expression'}, not of dates or times"),
        (may_create is None, f"there is no tablespace {space}"),
        (not ranges, "no partition of it is a table with an end"),
    )
    why_no_more = first_reason(
        key,
        (has_default, "it has a default partition, which would be scanned under a lock for each new one"),
        (bool(endless), _WITHOUT_END.format(endless)),
        (len(ranges) < len(found), "not all of its partitions are tables with an end"),
        (
            may_create is False,
            f"its owner {owner} may not create in {space}: it needs CREATE on that tablespace, to fill it",
        ),
    )
    return PartitionedTable(
        key=key, schema=schema, name=name, owner=owner, time_format=FORMATS.get(kind, ""), ranges=tuple(ranges),
        why_not=why_not, why_no_more=why_not or why_no_more,
    )  # fmt: skip


def _range(row: tuple[object, ...]) -> Range | None:
    """One partition; None where it does not end at a time, or it is partitioned in its turn."""
    oid, schema, name, key, kind, bound, space, size = row
    found = _BOUND.fullmatch(str(bound))
    if found is None or kind != TABLE:
        return None
    try:
        low, high = (None if text is None else instant_of(text) for text in found.groups())
    except ValueError:  # infinity, or another DateStyle
        return None
    assert high is not None, "the pattern has it"
    return Range(
        id=int(str(oid)), schema=str(schema), name=str(name), key=str(key), low=low, high=high, space=str(space),
        size_bytes=int(str(size or 0)),
    )  # fmt: skip
