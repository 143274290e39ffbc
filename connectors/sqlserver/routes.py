"""Every way SQL Server has to move a unit to another filegroup, as full statements. Pure.

An index is built anew there by ``CREATE INDEX ... WITH (DROP_EXISTING = ON) ON filegroup``; ALTER INDEX REBUILD has no
ON and moves nothing. A heap gets a clustered index for a while. One partition moves by building its index on a second
partition scheme that differs in that partition only. Large objects follow neither, see ``refusals``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from connectors.model import Bundle, NoRoute, Route, Step
from connectors.sqlserver import ddl
from connectors.sqlserver.definition import (
    CLUSTERED,
    CLUSTERED_COLUMNSTORE,
    HEAP,
    NONCLUSTERED,
    NONCLUSTERED_COLUMNSTORE,
    OLD_LOB_TYPES,
    WIDE_TYPES,
    Column,
    Definition,
    IndexDefinition,
)
from connectors.sqlserver.keys import quoted
from connectors.sqlserver.refusals import refusal
from connectors.sqlserver.session import lock_timeout_statement
from connectors.sqlserver.settings import SqlserverSettings

TAG = "/* hotplace move"
PREFIX = "hotplace_"
ONLINE_EDITIONS = frozenset({3, 5, 8})  # EngineEdition: Enterprise and Developer, Azure SQL Database, Managed Instance
KEY_BYTES = 900  # of a clustered index in every version
LOG_FACTOR, MINIMAL_LOG_FACTOR = 1.2, 0.1  # bytes of log a byte: fully logged; pages allocated only
SORT_FACTOR = 0.2  # extra room while it is built
_ONLINE_SINCE = {CLUSTERED_COLUMNSTORE: 15, NONCLUSTERED_COLUMNSTORE: 14}
_ORDERED_ONLINE_SINCE = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What decides which statements it takes."""

    major: int
    edition: int  # EngineEdition


@dataclass(frozen=True, slots=True)
class _Plan:
    """Statements both ways, each with its purpose. ``{}`` in a name stands for the number of the move."""

    name: str
    there: tuple[tuple[str, str], ...]
    back: tuple[tuple[str, str], ...]
    tidy: tuple[tuple[str, str], ...] = ()
    rebuilds: int = 1
    rewritten_bytes: int = 0  # of other units, which the statement writes too
    notes: tuple[str, ...] = ()


def routes_of(
    definition: Definition | None, bundle: Bundle, to_space: str, server: Server, settings: SqlserverSettings
) -> tuple[Route, ...] | NoRoute:
    """Every way to bring the bundle there, the online one first, or why there is none."""
    against = refusal(definition, bundle, to_space, lob_moves=settings.lob_moves)
    if against is not None:
        return against
    assert definition is not None, "a missing table is refused above"
    ways = [True] if may_build_online(definition, server) else []
    ways += [False] if settings.offline_moves else []
    if not ways:
        return NoRoute(
            code="no_online_build",
            sentence=f"{bundle.key} cannot be built online here, offline is excluded; hotplace doctor writes down how "
            f"the whole of {bundle.space} may change disks",
        )
    plan_of = _way_of(definition, bundle)
    found = [plan_of(definition, bundle, to_space, _build(server, settings, online)) for online in ways]
    if isinstance(found[0], NoRoute):
        return found[0]
    return tuple(
        _route(plan, definition, bundle, to_space, online, settings)
        for plan, online in zip(found, ways, strict=True)
        if isinstance(plan, _Plan)
    )


def tag_of(route: Route) -> str:
    """What every statement of this move begins with, and of no other."""
    return route.steps[0].sql.partition(" step ")[0] + " "


def may_build_online(definition: Definition, server: Server) -> bool:
    """By edition, version, and what the index holds."""
    index = definition.index
    assert index is not None, "refused before"
    if server.edition not in ONLINE_EDITIONS or server.major < _ONLINE_SINCE.get(index.kind, 0):
        return False
    if index.kind == CLUSTERED_COLUMNSTORE and any(c.store_ordinal for c in index.columns):
        return server.major >= _ORDERED_ONLINE_SINCE
    on_columnstore = any(i.kind == CLUSTERED_COLUMNSTORE for i in definition.indexes)
    if index.kind == NONCLUSTERED and on_columnstore:
        return server.major >= _ONLINE_SINCE[CLUSTERED_COLUMNSTORE]
    if index.kind == HEAP:
        return not any(column.large for column in definition.columns)
    return not (index.kind == CLUSTERED and any(c.type_name in OLD_LOB_TYPES for c in definition.columns))


def _build(server: Server, settings: SqlserverSettings, online: bool) -> ddl.Build:
    return ddl.Build(
        major=server.major,
        online=online,
        maxdop=settings.maxdop,
        sort_in_tempdb=settings.sort_in_tempdb,
        low_priority_minutes=settings.low_priority_minutes,
    )


def _way_of(definition: Definition, bundle: Bundle) -> Callable[..., _Plan | NoRoute]:
    index = definition.index
    assert index is not None, "refused before"
    if index.kind == HEAP:
        return _heap
    if definition.name.partition is not None:
        return _partition
    return _with_lob if any(key.endswith(" lob") for key in bundle.unit_keys) else _rebuild


def _rebuild(definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> _Plan:
    index = _index(definition)
    there = ddl.rebuild(definition.name, index, build, quoted(to_space))
    back = ddl.rebuild(definition.name, index, build, quoted(bundle.space))
    notes = ["other indexes of the table stay where they are"] if index.kind == CLUSTERED else []
    if any(p.lob_pages for p in definition.partitions) and not index.columnstore:
        notes.append("LOB stays: large objects are not moved by this")
    return _Plan(
        "rebuild",
        ((there, f"build {bundle.key} anew in {to_space}"),),
        ((back, f"build {bundle.key} anew in {bundle.space}"),),
        notes=tuple(notes),
    )


def _heap(definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> _Plan | NoRoute:
    column = _narrowest(definition.columns)
    if column is None:
        return NoRoute(code="no_key", sentence=f"{bundle.key} is a heap without a column that an index may have as key")
    heap = definition.partitions[0]

    def way(space: str) -> tuple[tuple[str, str], ...]:
        on = quoted(space)
        return (
            (
                ddl.cluster_heap(definition.name, f"{PREFIX}{{}}", column.name, heap, build, on),
                f"carry {bundle.key} to {space} by a clustered index",
            ),
            (ddl.uncluster_heap(definition.name, f"{PREFIX}{{}}", build, on), f"make {bundle.key} a heap again"),
        )

    others = sum(p.row_pages for i in definition.indexes if i.kind == NONCLUSTERED for p in i.partitions) * 8192
    return _Plan(
        "heap by a clustered index",
        way(to_space),
        way(bundle.space),
        tidy=(way(to_space)[1],),
        rebuilds=2,
        rewritten_bytes=2 * others,
        notes=("every nonclustered index of the table is built anew twice, where it is",),
    )


def _partition(definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> _Plan | NoRoute:
    """The whole index on a scheme of the same function that sends this partition elsewhere."""
    index = _index(definition)
    scheme, column = definition.spaces.get(index.space_id), ddl.partition_column(index)
    target = definition.space_named(to_space)
    if scheme is None or scheme.function is None or column is None or target is None:
        return NoRoute(code="no_scheme", sentence=f"the partition scheme of {bundle.key} cannot be seen")
    moved = scheme.destinations | {definition.name.partition: target.number}
    filegroups = [definition.spaces[moved[number]].name for number in range(1, scheme.fanout + 1)]
    on, off = f"{quoted(PREFIX + '{}')} ({quoted(column)})", f"{quoted(scheme.name)} ({quoted(column)})"
    drop = (ddl.drop_scheme(f"{PREFIX}{{}}"), "remove the second partition scheme")
    whole = sum(p.row_pages for p in index.partitions) * 8192
    return _Plan(
        "rebuild on a second partition scheme",
        (
            (
                ddl.create_scheme(f"{PREFIX}{{}}", scheme.function, filegroups),
                f"a scheme that sends partition {definition.name.partition} to {to_space}",
            ),
            (ddl.rebuild(definition.name, index, build, on), f"build the index of {bundle.key} anew on that scheme"),
        ),
        (
            (ddl.rebuild(definition.name, index, build, off), f"build the index of {bundle.key} anew on {scheme.name}"),
            drop,
        ),
        tidy=(drop,),
        rewritten_bytes=max(0, whole - bundle.size_bytes),
        notes=(
            "all partitions of the index are written anew, the others where they are: each filegroup needs their room",
            "the table no longer shares its scheme with others, and SWITCH with them needs equal schemes",
        ),
    )


def _with_lob(definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> _Plan | NoRoute:
    """To a partition scheme and off it again: the only rebuilds that take LOB_DATA along."""
    index = _index(definition)
    leading = next((c for c in definition.columns if index.keys and c.name == index.keys[0].name), None)
    kind = None if leading is None else ddl.type_of(leading)
    if leading is None or kind is None or index.columnstore:
        return NoRoute(code="lob_stays", sentence=f"the first key column of {bundle.key} cannot partition it")
    name = f"{PREFIX}{{}}"
    drops = (
        (ddl.drop_scheme(name), "remove the temporary partition scheme"),
        (ddl.drop_function(name), "remove the temporary partition function"),
    )

    def way(space: str) -> tuple[tuple[str, str], ...]:
        on_scheme = ddl.rebuild(definition.name, index, build, f"{quoted(name)} ({quoted(leading.name)})")
        return (
            (ddl.create_function(name, kind), "a temporary partition function"),
            (ddl.create_scheme(name, name, (space, space)), f"a temporary partition scheme in {space}"),
            (on_scheme, f"build {bundle.key} anew on it, large objects included"),
            (ddl.rebuild(definition.name, index, build, quoted(space)), f"build {bundle.key} anew in {space}"),
            *drops,
        )

    return _Plan(
        "rebuild through a partition scheme",
        way(to_space),
        way(bundle.space),
        tidy=(way(to_space)[3], *drops),
        rebuilds=2,
        notes=("the table is built anew twice so that its large objects follow",),
    )


def _narrowest(columns: tuple[Column, ...]) -> Column | None:
    """The cheapest key: never null first, then the shortest."""
    fit = [c for c in columns if not c.large and not c.computed and c.type_name not in WIDE_TYPES]
    fit = [c for c in fit if 0 < c.max_length <= KEY_BYTES]
    return min(fit, key=lambda c: (c.nullable, c.max_length), default=None)


def _index(definition: Definition) -> IndexDefinition:
    index = definition.index
    assert index is not None, "refused before"
    # A temporary scheme has two partitions, so ranges of partitions would not fit; one value for all does.
    return index if len(index.partitions) > 1 else replace(index, partitions=index.partitions[:1])


def _route(
    plan: _Plan, definition: Definition, bundle: Bundle, to_space: str, online: bool, settings: SqlserverSettings
) -> Route:
    number = _number(plan)
    limit = settings.move_timeout

    def steps(word: str, statements: tuple[tuple[str, str], ...]) -> tuple[Step, ...]:
        return tuple(
            Step(
                sql=f"{TAG} {number} {word} {ordinal} */ {_named(sql, number)}",
                purpose=purpose,
                timeout_seconds=limit,
            )
            for ordinal, (sql, purpose) in enumerate(statements, start=1)
        )

    written = plan.rebuilds * bundle.size_bytes + plan.rewritten_bytes
    full = online or definition.owner.recovery_model == "FULL"
    return Route(
        name=f"{plan.name} {'online' if online else 'offline'}",
        bundle=bundle,
        to_space=to_space,
        prologue=(lock_timeout_statement(settings.lock_timeout),),
        steps=steps("step", plan.there),
        undo_steps=steps("undo", plan.back),
        tidy_steps=steps("tidy", plan.tidy),
        online=online,
        locks=_locks(_index(definition), online, settings),
        log_bytes=round(written * (LOG_FACTOR if full else MINIMAL_LOG_FACTOR)),
        transient_bytes=round(bundle.size_bytes * (plan.rebuilds - 1 + SORT_FACTOR)),
        notes=(*plan.notes, "the log cannot be truncated while it runs") if online else plan.notes,
    )


def _number(plan: _Plan) -> str:
    """The same for the same statements, so that a plan made twice is the same plan."""
    text = ";".join(sql for sql, _ in (*plan.there, *plan.back))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _named(statement: str, number: str) -> str:
    """Fill in the names that carry the number of the move."""
    return statement.replace(f"[{PREFIX}{{}}]", f"[{PREFIX}{number}]")


def _locks(index: IndexDefinition, online: bool, settings: SqlserverSettings) -> str:
    waits = f"waits at most {settings.lock_timeout:g} s for a lock"
    if online:
        last = "S" if index.kind in {NONCLUSTERED, NONCLUSTERED_COLUMNSTORE} else "Sch-M"
        return f"IS on the table while it is built, {last} for a moment at the end, behind which others queue; {waits}"
    if index.kind in {NONCLUSTERED, NONCLUSTERED_COLUMNSTORE}:
        return f"S on the table while it is built: reads go on, writes wait; {waits}"
    return f"Sch-M on the table while it is built: no reads, no writes; {waits}"
