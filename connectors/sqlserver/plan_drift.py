"""Whether an approved route still fits the catalog, and whether a rebuild has kept what belonged to it.

``drift_reason`` compares a route with what the catalog shows now. CREATE INDEX states every property of an index as it
was when the move was planned. If another session has since added a column to the index, or moved another of its
partitions, the statement would silently bring the old state back. Pure.

``read_belongings`` and ``changes`` compare, in words, what belonged to the table before and after the move: all that
CREATE INDEX states, and what it cannot state. The latter are extended properties of indexes, persisted sample sizes
(reset by a rebuild before 2016 SP2 CU17, 2017 CU26, 2019 CU10), and rights on the table, which another session may have
taken away meanwhile. Filegroups and index numbers are meant to change and are left out. What this login may not see is
named as unseen. It is not absent, and whether it stayed is then unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from connectors.kit.contract import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.model.moves import Kept, NoRoute, Route, Step
from connectors.sqlserver import operations
from connectors.sqlserver.ddl import FULL_PAGES, ServerFeatures
from connectors.sqlserver.definition import (
    CLUSTERED,
    CLUSTERED_COLUMNSTORE,
    HEAP,
    NONCLUSTERED,
    NONCLUSTERED_COLUMNSTORE,
    Definition,
    IndexDefinition,
    Partition,
    scheme_of,
)
from connectors.sqlserver.keys import name_of, quote
from connectors.sqlserver.move_methods import PREFIX
from connectors.sqlserver.operations import (
    COUNT_TABLE,
    CREATE_SCHEME,
    DROP_TABLE,
    SPLIT_RANGE,
    SWITCH_BACK,
    operation_of,
    way_back,
)
from connectors.sqlserver.routes import routes_back, routes_of, tag_of
from connectors.sqlserver.sessions import ReadSession, Row
from connectors.sqlserver.settings import SqlserverSettings

_FORESEEN = -1  # stands for the data_space_id that a scheme will get


def drift_reason(
    definition: Definition | None, route: Route, server: ServerFeatures, settings: SqlserverSettings
) -> str:
    """Why the route no longer fits, "" where it does or where the statement itself will tell.

    Args:
        definition: of the bundle's leading unit, now.
        route: as approved.
        server: what it takes.
        settings: of the moving session; how an index is built is no matter here, what is built is.
    """
    # The partition is not there yet, and the statement itself sees that the last one is empty; or rows take their place
    # again, and the statement itself compares them.
    if route.steps and operation_of(route.steps[0]).name in {SPLIT_RANGE, SWITCH_BACK}:
        return ""
    tidies = {step.sql for step in route.tidy_steps}
    if definition is None or definition.index is None or all(step.sql in tidies for step in route.steps):
        return ""  # what only removes what a move has made fits always
    homes = definition.homes()
    if homes == {route.bundle.space}:
        every = settings.model_copy(update={"offline_moves": True, "lob_moves": True, "resumable": "all"})
        back = way_back(route.steps)
        now = (
            routes_of(definition, route.bundle, route.to_space, server, every)
            if back is None
            else routes_back(definition, back, route.bundle, route.to_space, server, every)
        )
        if isinstance(now, NoRoute):
            return now.sentence
        same = any(_builds_the_same(found, route) for found in now)
        return "" if same else f"{route.bundle.key} is not what it was when this was planned"
    scheme = definition.spaces.get(definition.index.space_id)
    if definition.name.partition is not None and scheme is not None and scheme.name != made_by(route):
        return f"the index of {route.bundle.key} is on {quote(scheme.name)}, which this move did not make"
    return ""


def foreseen(definition: Definition, before: Route) -> Definition | None:
    """The table once that route has brought partitions of the same index to a scheme of its own; None: it is no such.

    Args:
        definition: of another partition of the index, now.
        before: the route that comes first.
    """
    index, scheme, target = definition.index, scheme_of(definition), definition.space_named(before.to_space)
    moved = {name_of(key).partition for key in before.bundle.unit_keys}
    if index is None or scheme is None or target is None or not _makes_a_scheme(before):
        return None
    made = replace(
        scheme,
        number=_FORESEEN,
        name=made_by(before),
        destinations={n: target.number if n in moved else at for n, at in scheme.destinations.items()}
        | {scheme.fanout + 1: scheme.next_or_last},
    )
    parts = (replace(p, row_space_id=target.number) if p.number in moved else p for p in index.partitions)
    # What a build states is in the catalog afterwards: a fill factor of 0 has become 100.
    filled = index.fill_factor or FULL_PAGES
    there = replace(index, space_id=_FORESEEN, partitions=tuple(parts), fill_factor=filled)
    indexes = tuple(there if other is index else other for other in definition.indexes)
    return replace(definition, indexes=indexes, spaces={**definition.spaces, _FORESEEN: made})


def foreseen_back(definition: Definition, before: Route) -> Definition | None:
    """The table once that way back has brought the index to the scheme that it names; None: it is no such."""
    back, index = way_back(before.steps), definition.index
    own = None if back is None else definition.scheme_named(back[0])
    if back is None or own is None or index is None:
        return None
    parts = (replace(p, row_space_id=own.destinations.get(p.number, p.row_space_id)) for p in index.partitions)
    there = replace(index, space_id=own.number, partitions=tuple(parts))
    indexes = tuple(there if other is index else other for other in definition.indexes)
    spaces = {number: space for number, space in definition.spaces.items() if space.name != back[1]}
    return replace(definition, indexes=indexes, spaces=spaces)


def _makes_a_scheme(route: Route) -> bool:
    return bool(route.rewrites) and operation_of(route.steps[0]).name == CREATE_SCHEME


def made_by(route: Route) -> str:
    """Name of the scheme, function or index that the route makes, or of the scheme that it removes."""
    back = way_back(route.steps)
    return back[1] if back is not None else PREFIX + tag_of(route).split()[-1]


def _builds_the_same(now: Route, approved: Route) -> bool:
    """Whether the statements build the same there and back, however they build it and whatever their number."""
    steps, others = (*now.steps, *now.undo_steps), (*approved.steps, *approved.undo_steps)
    if any(step.operation is None for step in others):
        return operations.built_by(steps) == operations.built_by(others)
    return _builds_of(steps) == _builds_of(others)


def _builds_of(steps: Iterable[Step]) -> list[str]:
    """What each of them builds; what becomes of replaced rows afterwards is not built, and may be another thing."""
    operations = (operation_of(step) for step in steps)
    return [each.text("builds") for each in operations if each.name not in {COUNT_TABLE, DROP_TABLE}]


UNSEEN = "not seen by this login"
_INDEX = "index "
_IN_DETAIL = " in detail"  # separate, so that what was stored before it was read stays comparable
_PROPERTY, _SAMPLE, _RIGHT = "extended property ", "persisted sample of ", " for "
_ALL = {"index_properties": "extended properties", "samples": "persisted samples", "table_grants": "rights"}
FULL_FILL_FACTOR = 100  # per cent; a fill factor of 0 is the same
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
    number, names = definition.owner.object_id, {i.index_id: _name_of(i) for i in definition.indexes}
    rows = {name: _read_optional(session, name, number) for name in _ALL}
    found = [Kept(what=_name_of(index), how=_shape(index)) for index in definition.indexes]
    found += [
        Kept(what=f"{_name_of(index)}{_IN_DETAIL}", how=how)
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
    mine = f" of {_name_of(definition.index)}"
    return any(each.what.endswith(mine) for each in kept)


def _read_optional(session: ReadSession, name: str, object_id: int) -> list[Row] | None:
    """Rows of a query, none where this version has no such thing; None: this login may not ask."""
    try:
        return session.rows(name, object_id, doing="looking at what belongs to the table")
    except PrivilegeMissing:
        return None
    except (ObjectGone, StatementFailed):
        return []


def _name_of(index: IndexDefinition) -> str:
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
        yield f"fill factor {index.fill_factor or FULL_FILL_FACTOR}"
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
