"""What a rebuild restates or may lose, in words, to be compared with what is there after the move.

Everything that CREATE INDEX states is compared, and what it cannot state: extended properties of indexes, persisted
sample sizes (reset by a rebuild before 2016 SP2 CU17, 2017 CU26, 2019 CU10), and rights on the table, which another
session may have taken away meanwhile. Filegroups and index numbers are to change, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
)
from connectors.sqlserver.reading.keys import quote
from connectors.sqlserver.session.sessions import ReadSession, Row

FULL_PAGES = 100  # per cent; a fill factor of 0 is the same
_KINDS = {
    HEAP: "heap",
    CLUSTERED: "clustered",
    NONCLUSTERED: "nonclustered",
    CLUSTERED_COLUMNSTORE: "clustered columnstore",
    NONCLUSTERED_COLUMNSTORE: "nonclustered columnstore",
}


def read_belongings(session: ReadSession, definition: Definition) -> tuple[Kept, ...]:
    """Of the table as it is now; what this login may not see is left out.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    number, names = definition.owner.object_id, {i.index_id: _named(i) for i in definition.indexes}
    found = [Kept(what=_named(index), how=_shape(index)) for index in definition.indexes]
    for index_id, name, value in _optional(session, "index_properties", number):
        found.append(
            Kept(what=f"extended property {quote(name)} of {names.get(index_id, 'an index')}", how=repr(value))
        )
    for index_id, percent in _optional(session, "samples", number):
        if percent is not None:
            found.append(Kept(what=f"persisted sample of {names.get(index_id, 'an index')}", how=f"{percent:g} %"))
    for grantee, permission, state, column in _optional(session, "table_grants", number):
        of_column = f" on column {column}" if column else ""
        found.append(Kept(what=f"{permission}{of_column} for {quote(grantee)}", how=str(state)))
    return tuple(sorted(found, key=lambda kept: (kept.what, kept.how)))


def changes(before: Sequence[Kept], now: Sequence[Kept]) -> tuple[str, ...]:
    """What is not as it was, one clause each; what is new is no loss and is not named.

    Args:
        before: as the route has it.
        now: as ``read_belongings`` has it.
    """
    there = {kept.what: kept.how for kept in now}
    return tuple(
        f"{kept.what} ({kept.how}) is gone"
        if kept.what not in there
        else f"{kept.what} was {kept.how} and is {there[kept.what]}"
        for kept in before
        if there.get(kept.what) != kept.how
    )


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


def _optional(session: ReadSession, name: str, object_id: int) -> list[Row]:
    """Rows of a query, none where this login or version cannot ask it."""
    try:
        return session.rows(name, object_id, doing="looking at what belongs to the table")
    except (ObjectGone, PrivilegeMissing, StatementFailed):
        return []


def _named(index: IndexDefinition) -> str:
    return "the heap" if index.name is None else f"index {quote(index.name)}"


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
