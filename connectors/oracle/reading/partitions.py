"""A table that is partitioned by ranges of dates, as the dictionary shows it, and where a next partition may lie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from connectors.oracle.reading.facts import SpaceFacts, quota_left
from connectors.oracle.reading.names import key_of, names_of, plain
from connectors.oracle.session.queries import query
from connectors.oracle.session.sessions import ReadSession, Row
from connectors.rolling.ranges import Range, RangeTable, first_reason, instant_of

RANGE, NO_SUBPARTITIONS = "RANGE", "NONE"  # of DBA_PART_TABLES
MAXVALUE = "MAXVALUE"
# As HIGH_VALUE has them: of a DATE in any session's format the first, of a TIMESTAMP the second.
DATE, TIMESTAMP = "TO_DATE(", "TIMESTAMP"
_BOUND = re.compile(r"(TO_DATE\(|TIMESTAMP) ?' ?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.0+)?'.*")


@dataclass(frozen=True, kw_only=True)
class PartitionedTable(RangeTable):
    """With what Oracle needs to make a partition of it."""

    bound: str  # DATE or TIMESTAMP
    elsewhere: tuple[str, ...]  # local indexes whose pieces have another default, each with the tablespace


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The row of ``sql/part_table.sql``, in its order."""

    kind: str
    subpartitions: str
    columns: int
    interval: str | None
    iot_type: str | None
    lobs: int
    children: int  # tables that are partitioned by reference to it


def read_partitions(session: ReadSession, key: str, to_space: str) -> PartitionedTable | None:
    """The partitioned table of that key, of which partitions are to go to a tablespace; None where there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = names_of(key)
    names = {"owner": found[0], "name": found[1]} if found else {}
    rows = session.rows(query("part_table"), names, doing=f"looking up how {key} is partitioned") if found else []
    if not found or not rows:
        return None
    owner, name = found
    how, key = Partitioning(*rows[0]), key_of(owner, name)
    bounds = sorted(session.rows(query("part_bounds"), names, doing=f"reading the bounds of {key}"), key=lambda r: r[2])
    units = session.rows(query("part_units"), names, doing=f"reading the partitions of {key}")
    ranges = _ranges(owner, name, bounds, {part: (number, size) for part, number, size in units})
    kinds = {at[1] for row in bounds if (at := _BOUND.fullmatch(str(row[3])))}
    why_not = _why_not(key, how, ranges, kinds)
    why_no_more = why_not or _why_no_more(key, how, to_space, bounds)
    return PartitionedTable(
        key=key, schema=owner, name=name, time_format="%Y-%m-%d %H:%M:%S", ranges=ranges, why_not=why_not,
        why_no_more=why_no_more or _why_not_there(session, owner, key, ranges[-1].space, to_space),
        bound=min(kinds, default=""), elsewhere=_elsewhere(session, names, to_space),
    )  # fmt: skip


def _ranges(owner: str, table: str, bounds: list[Row], units: dict[str, tuple[int, int | None]]) -> tuple[Range, ...]:
    """Those that end at a time; each begins where the one before it ends."""
    found = []
    for before, (name, space, _, bound) in pairwise([(None, None, 0, ""), *bounds]):
        high, low = _BOUND.fullmatch(str(bound)), _BOUND.fullmatch(str(before[3]))
        if high is not None:
            number, size = units.get(name, (0, None))
            found.append(Range(
                id=number, schema=owner, name=name, key=key_of(owner, table, part_word="PARTITION", part=name),
                low=instant_of(low[2]) if low else None, high=instant_of(high[2]), space=space or "",
                size_bytes=size or 0,
            ))  # fmt: skip
    return tuple(found)


def _why_not(key: str, how: Partitioning, ranges: tuple[Range, ...], kinds: set[str]) -> str:
    return first_reason(
        key,
        (how.kind != RANGE or how.columns != 1, "it is not partitioned by ranges of one column"),
        (how.subpartitions != NO_SUBPARTITIONS, "its partitions have subpartitions, which lie anywhere"),
        (how.iot_type is not None, "it is index-organised: its partitions are those of its index"),
        (how.lobs > 0, "it has LOB columns, whose segments have tablespaces of their own"),
        (not ranges or len(kinds) != 1, "its ranges are not of dates or times"),
    )


def _why_no_more(key: str, how: Partitioning, to_space: str, bounds: list[Row]) -> str:
    own = f"ALTER TABLE {key} SET STORE IN ({plain(to_space)})"
    indexes = f"ALTER INDEX ... MODIFY DEFAULT ATTRIBUTES TABLESPACE {plain(to_space)} for its local indexes"
    return first_reason(
        key,
        (
            how.interval is not None,
            f"the server makes its next partitions, by intervals (ORA-14760); where: {own}, and {indexes}",
        ),
        (
            str(bounds[-1][3]).strip() == MAXVALUE,
            "its last partition ends at MAXVALUE (ORA-14074), so the next rows have a place: a person splits it",
        ),
        (how.children > 0, "tables are partitioned by reference to it, and would get a partition each"),
    )


def _why_not_there(session: ReadSession, owner: str, key: str, last_space: str, to_space: str) -> str:
    """Why no partition can be made in that tablespace."""
    values = {"source": last_space, "target": to_space}
    rows = session.rows(query("two_spaces"), values, doing="comparing spaces")
    spaces = {row[0]: SpaceFacts(*row) for row in rows}
    target, source = spaces.get(to_space), spaces.get(last_space)
    if target is None or source is None:
        return f"{key}: there is no tablespace {to_space}"
    usable = target.contents == "PERMANENT" and target.status == "ONLINE"
    return first_reason(
        key,
        (not usable, f"{to_space} is {target.status}, for {target.contents} data"),
        (target.block_size != source.block_size, f"{to_space} has blocks of {target.block_size} bytes (ORA-14519)"),
        (source.encrypted == "YES" and target.encrypted != "YES", f"{to_space} is not encrypted, {last_space} is"),
        (
            quota_left(session, owner, to_space) == 0,
            f"{owner} has no quota in {to_space} (ORA-01950): ALTER USER ... QUOTA ... ON ...",
        ),
    )


def _elsewhere(session: ReadSession, names: dict[str, str], to_space: str) -> tuple[str, ...]:
    rows = session.rows(query("local_indexes"), names, doing="looking up local indexes")
    return tuple(f"{key_of(owner, name)} in {space}" for owner, name, space in rows if space not in (None, to_space))
