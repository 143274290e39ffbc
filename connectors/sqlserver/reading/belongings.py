"""What a rebuild restates or may lose, in words, to be compared with what is there after the move.

Everything that CREATE INDEX states is compared, and what it cannot state: extended properties of indexes, persisted
sample sizes (reset by a rebuild before 2016 SP2 CU17, 2017 CU26, 2019 CU10), and rights on the table, which another
session may have taken away meanwhile. Filegroups and index numbers are to change, and are left out. What this login may
not see is named as such: it is not absent, and whether it stayed is then not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from connectors.base import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.move_effects import Kept
from connectors.sqlserver.reading.definition import (
    CLUSTERED,
    CLUSTERED_COLUMNSTORE,
    HEAP,
    NONCLUSTERED,
    NONCLUSTERED_COLUMNSTORE,
    Definition,
    IndexDefinition,
    Partition,
)
from connectors.sqlserver.reading.keys import quote
from connectors.sqlserver.session.sessions import ReadSession, Row

UNSEEN = "not seen by this login"
_INDEX = "index "
_IN_DETAIL = " in detail"  # by itself, so that what was stored before it was read stays comparable
_PROPERTY, _SAMPLE, _RIGHT = "extended property ", "persisted sample of ", " for "
_ALL = {"index_properties": "extended properties", "samples": "persisted samples", "table_grants": "rights"}
FULL_PAGES = 100  # per cent; a fill factor of 0 is the same
_KINDS = {
    HEAP: "heap",
    CLUSTERED: "clustered",
    NONCLUSTERED: "nonclustered",
    CLUSTERED_COLUMNSTORE: "clustered columnstore",
    NONCLUSTERED_COLUMNSTORE: "nonclustered columnstore",
}


def read_belongings(session: ReadSession, definition: Definition) -> tuple[Kept, ...]:
    """Of the table as it is now.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    number, names = definition.owner.object_id, {i.index_id: _named(i) for i in definition.indexes}
    rows = {name: _seen(session, name, number) for name in _ALL}
    found = [Kept(what=_named(index), how=_shape(index)) for index in definition.indexes]
    found += [
        Kept(what=f"{_named(index)}{_IN_DETAIL}", how=how)
        for index in definition.indexes
        if (how := ", ".join(_details(index)))
    ]
    for index_id, name, value in rows["index_properties"] or ():
        found.append(Kept(what=f"{_PROPERTY}{quote(name)} of {names.get(index_id, 'an index')}", how=repr(value)))
    for index_id, percent in rows["samples"] or ():
        if percent is not None:
            found.append(Kept(what=f"{_SAMPLE}{names.get(index_id, 'an index')}", how=f"{percent:g} %"))
    for grantee, permission, state, column in rows["table_grants"] or ():
        of_column = f" on column {column}" if column else ""
        found.append(Kept(what=f"{permission}{of_column}{_RIGHT}{quote(grantee)}", how=str(state)))
    found += [Kept(what=_ALL[name], how=UNSEEN) for name, seen in rows.items() if seen is None]
    return tuple(sorted(found, key=lambda kept: (kept.what, kept.how)))


def changes(before: Sequence[Kept], now: Sequence[Kept]) -> tuple[str, ...]:
    """What is not as it was, one clause each; what is new is no loss and is not named.

    Args:
        before: as the route has it.
        now: as ``read_belongings`` has it.
    """
    gone = list((Counter(before) - Counter(now)).elements())  # the same right may have been given by several
    there = {kept.what: kept.how for kept in (Counter(now) - Counter(before)).elements()}
    unseen = {kept.what for kept in now if kept.how == UNSEEN}
    lost = [kept for kept in gone if kept.how != UNSEEN and _sort_of(kept) not in unseen]
    return (
        *(
            f"{kept.what} was {kept.how} and is {there[kept.what]}"
            if kept.what in there
            else f"{kept.what} ({kept.how}) is gone"
            for kept in lost
        ),
        *(
            f"whether {what} stayed is not known, this login does not see them any more"
            for what in sorted(unseen)
            if any(_sort_of(kept) == what for kept in gone)
        ),
    )


def _sort_of(kept: Kept) -> str:
    """Which of those that a login may not see it is one of."""
    if kept.what.startswith(_PROPERTY):
        return _ALL["index_properties"]
    if kept.what.startswith(_SAMPLE):
        return _ALL["samples"]
    return _ALL["table_grants"] if _RIGHT in kept.what and not kept.what.startswith(_INDEX) else ""


def hangs_on_index(definition: Definition | None, kept: Sequence[Kept]) -> bool:
    """Whether the index that moves has an extended property or a persisted sample, which another index would not have.

    Args:
        definition: of the unit.
        kept: from ``read_belongings``.
    """
    if definition is None or definition.index is None:
        return False
    mine = f" of {_named(definition.index)}"
    return any(each.what.endswith(mine) for each in kept)


def _seen(session: ReadSession, name: str, object_id: int) -> list[Row] | None:
    """Rows of a query, none where this version has no such thing; None: this login may not ask."""
    try:
        return session.rows(name, object_id, doing="looking at what belongs to the table")
    except PrivilegeMissing:
        return None
    except (ObjectGone, StatementFailed):
        return []


def _named(index: IndexDefinition) -> str:
    return "the heap" if index.name is None else f"{_INDEX}{quote(index.name)}"


def _shape(index: IndexDefinition) -> str:
    return ", ".join(_words(index))


def _words(index: IndexDefinition) -> Iterator[str]:
    """Everything that must be as it was."""
    yield f"{'unique ' if index.unique else ''}{_KINDS.get(index.kind, f'kind {index.kind}')}"
    yield from (words for applies, words in _flags(index) if applies)
    if index.keys:
        yield "on " + " ".join(f"{'-' if c.descending else '+'}{quote(c.name)}" for c in index.keys)
    included = sorted(quote(c.name) for c in index.columns if c.included)
    if included:
        yield "including " + " ".join(included)
    if index.filter:
        yield f"where {index.filter}"
    if index.kind not in {HEAP, CLUSTERED_COLUMNSTORE, NONCLUSTERED_COLUMNSTORE}:
        yield f"fill factor {index.fill_factor or FULL_PAGES}"
    yield "compression " + " ".join(sorted({p.compression for p in index.partitions}))


def _flags(index: IndexDefinition) -> tuple[tuple[object, str], ...]:
    return (
        (index.primary_key, "primary key"),
        (index.unique_constraint, "unique constraint"),
        (index.disabled, "disabled"),
        (index.ignore_dup_key, "ignoring duplicates"),
        (index.padded, "padded"),
        (not index.row_locks and index.kind != HEAP, "without row locks"),
        (not index.page_locks and index.kind != HEAP, "without page locks"),
        (index.no_recompute, "statistics not recomputed"),
        (index.incremental, "incremental statistics"),
        (index.sequential_key, "optimized for a sequential key"),
        (index.compression_delay, f"compression delay {index.compression_delay}"),
        (any(p.xml_compression for p in index.partitions), "XML compression"),
    )


def _details(index: IndexDefinition) -> Iterator[str]:
    """What else must be as it was: most indexes have nothing of it."""
    if index.ignore_dup_key and index.suppress_messages:
        yield "suppressing messages of duplicates"
    ordered = sorted((c for c in index.columns if c.store_ordinal), key=lambda c: c.store_ordinal)
    if ordered:
        yield "ordered by " + " ".join(quote(c.name) for c in ordered)
    parted = sorted((c for c in index.columns if c.partition_ordinal), key=lambda c: c.partition_ordinal)
    if parted:
        yield "partitioned by " + " ".join(quote(c.name) for c in parted)
    for name, of in (("compression", _compression), ("XML compression", _xml_compression)):
        if len({of(partition) for partition in index.partitions}) > 1:
            # In the order of the partitions, each run of equal ones once: others may come and go at either end.
            values = [of(each) for each in sorted(index.partitions, key=lambda p: p.number)]
            yield f"{name} " + " ".join(value for value, _ in groupby(values))


def _compression(partition: Partition) -> str:
    return partition.compression


def _xml_compression(partition: Partition) -> str:
    return "ON" if partition.xml_compression else "OFF"
