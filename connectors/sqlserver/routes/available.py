"""Every way SQL Server has to move a unit to another filegroup, as routes: the kindest first. Pure.

``ways`` has the statements, ``online`` what may be built while the table is used; here they get their tags and costs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from connectors.formatting import format_seconds
from connectors.model import Bundle, NoRoute, Route, Step
from connectors.move_effects import FollowUp, Locked
from connectors.operations import Operation
from connectors.sqlserver.reading.definition import NONCLUSTERED, NONCLUSTERED_COLUMNSTORE, Definition, IndexDefinition
from connectors.sqlserver.routes import ddl
from connectors.sqlserver.routes.online import Server, may_be_paused, may_build_online, may_have_twin
from connectors.sqlserver.routes.operations import digest_of
from connectors.sqlserver.routes.refusals import refusal
from connectors.sqlserver.routes.switching import empty_range, switch_way
from connectors.sqlserver.routes.ways import MADE, PREFIX, Act, Maker, Way, index_of, twin, way_of
from connectors.sqlserver.session.sessions import lock_timeout_statement
from connectors.sqlserver.settings import SqlserverSettings

TAG = "/* hotplace move"
LOG_FACTOR, MINIMAL_LOG_FACTOR = 1.2, 0.1  # bytes of log a byte: fully logged; pages allocated only
SORT_FACTOR = 0.2  # extra room while it is built


@dataclass(frozen=True, slots=True)
class _Choice:
    """One way, and how its index is built."""

    make: Maker
    online: bool
    resumable: bool = False


def routes_of(
    definition: Definition | None, bundle: Bundle, to_space: str, server: Server, settings: SqlserverSettings
) -> tuple[Route, ...] | NoRoute:
    """Every way to bring the bundle there, what can be paused first, then what is online, or why there is none."""
    against = refusal(definition, bundle, to_space, lob_moves=settings.lob_moves)
    if against is not None:
        return against
    assert definition is not None, "a missing table is refused above"
    choices = list(_choices(definition, bundle, to_space, server, settings))
    found = [(c, _make(c, definition, bundle, to_space, _build(server, settings, c))) for c in choices]
    ways = tuple(
        _route(way, definition, bundle, to_space, choice, settings) for choice, way in found if isinstance(way, Way)
    )
    if ways:
        return ways
    return next(
        (reason for _, reason in found if isinstance(reason, NoRoute)),
        NoRoute(
            code="no_online_build",
            sentence=f"{bundle.key} cannot be built online here, offline is excluded; hotplace doctor writes down how "
            f"the whole of {bundle.space} may change disks",
        ),
    )


def tag_of(route: Route) -> str:
    """What every statement of this move begins with, and of no other."""
    return route.steps[0].sql.partition(" step ")[0] + " "


def number_of(way: Way) -> str:
    """The same for the same statements, so that a plan made twice is the same plan."""
    text = ";".join(act.sql for act in (*way.there, *way.back))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _make(choice: _Choice, definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> Way | NoRoute:
    """The way, each act with a digest of what it builds: settings and versions that only change how are left out."""
    way = choice.make(definition, bundle, to_space, build)
    plain = choice.make(definition, bundle, to_space, build.without_method())
    if not isinstance(way, Way) or not isinstance(plain, Way):
        return way
    return replace(
        way,
        there=tuple(map(_with_digest, way.there, plain.there)),
        back=tuple(map(_with_digest, way.back, plain.back)),
        tidy=tuple(map(_with_digest, way.tidy, plain.tidy)),
    )


def _with_digest(act: Act, plain: Act) -> Act:
    parameters = {**act.operation.parameters, "builds": digest_of(plain.sql)}
    return replace(act, operation=Operation(act.operation.name, parameters))


def tag_steps(number: str, word: str, acts: tuple[Act, ...], limit: float) -> tuple[Step, ...]:
    """Acts as steps: ``/* hotplace move 0123abcd step 1 */``, the number of the move filled in."""

    def text(sql: str, ordinal: int, what: str = "") -> str:
        named = sql.replace(MADE, f"{PREFIX}{number}")
        return f"{TAG} {number} {word} {ordinal}{what} */ {named}" if sql else ""

    def operation(act: Act) -> Operation:
        named = {
            k: v.replace(MADE, f"{PREFIX}{number}") if isinstance(v, str) else v
            for k, v in act.operation.parameters.items()
        }
        return Operation(act.operation.name, named)

    return tuple(
        Step(
            sql=text(act.sql, ordinal),
            purpose=act.purpose,
            undo_sql=text(act.abort, ordinal, " abort"),
            pause_sql=text(act.pause, ordinal, " pause"),
            resume_sql=text(act.resume, ordinal, " resume"),
            timeout_seconds=limit,
            operation=operation(act),
        )
        for ordinal, act in enumerate(acts, start=1)
    )


def _choices(
    definition: Definition, bundle: Bundle, to_space: str, server: Server, settings: SqlserverSettings
) -> Iterator[_Choice]:
    empty = empty_range(definition, bundle, to_space)
    if empty is not None:
        yield _Choice(lambda *_: empty, online=True)
        return
    if settings.partitions == "switched" and definition.name.partition is not None:
        if settings.offline_moves:
            yield _Choice(switch_way, online=False)
        if len(bundle.unit_keys) > 1:
            return  # each of its indexes would be built anew by a statement of its own
    plain = way_of(definition, bundle)
    with_lob = any(key.endswith(" lob") for key in bundle.unit_keys)
    if settings.resumable == "all" and may_be_paused(definition, server) and not with_lob:
        yield _Choice(plain, online=True, resumable=True)
    if settings.resumable != "no" and may_have_twin(definition, server):
        yield _Choice(twin, online=True, resumable=True)
    if may_build_online(definition, server):
        yield _Choice(plain, online=True)
    if settings.offline_moves:
        yield _Choice(plain, online=False)


def _build(server: Server, settings: SqlserverSettings, choice: _Choice) -> ddl.Build:
    return ddl.Build(
        major=server.major,
        online=choice.online,
        maxdop=settings.maxdop,
        sort_in_tempdb=settings.sort_in_tempdb and not choice.resumable,
        low_priority_minutes=settings.low_priority_minutes,
        resumable=choice.resumable,
    )


def _route(
    way: Way, definition: Definition, bundle: Bundle, to_space: str, choice: _Choice, settings: SqlserverSettings
) -> Route:
    number, limit = number_of(way), settings.move_timeout
    rewritten = way.rebuilds * bundle.size_bytes + way.rewritten_bytes
    full = choice.online or way.logged or definition.owner.recovery_model == "FULL"
    how = "resumable" if choice.resumable else "online" if choice.online else "offline"
    return Route(
        name=way.name if way.locks or way.name.endswith(how) else f"{way.name} {how}",
        bundle=bundle,
        to_space=to_space,
        prologue=(lock_timeout_statement(settings.lock_timeout),),
        steps=tag_steps(number, "step", way.there, limit),
        undo_steps=tag_steps(number, "undo", way.back, limit),
        tidy_steps=tag_steps(number, "tidy", way.tidy, limit),
        tidy_bytes=bundle.size_bytes if way.tidy_copies else 0,
        online=choice.online,
        locks=f"{way.locks}; {_patience(settings)}"
        if way.locks
        else _locks(index_of(definition), choice.online, settings),
        locked=way.locked or _lock_class(index_of(definition), choice.online),
        lock_seconds=settings.lock_timeout,
        follow_up=FOLLOW_UP,
        log_bytes=round(rewritten * (LOG_FACTOR if full else MINIMAL_LOG_FACTOR)),
        transient_bytes=round(bundle.size_bytes * (way.rebuilds - 1 + SORT_FACTOR)),
        rewrites=way.rewrites,
        notes=(*way.notes, *(() if way.locks else _notes(choice))),
    )


def _notes(choice: _Choice) -> tuple[str, ...]:
    if choice.resumable:
        return (
            "it can be paused: what is built stays, and so does its room",
            "while it is paused other DDL on the table and its TABLOCK loads are refused (error 10637)",
            "2022 and newer give it up when it was paused for PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES, a day",
        )
    return ("the log cannot be truncated while it runs",) if choice.online else ()


FOLLOW_UP = (FollowUp(what="plans of its table are compiled anew; the build refreshes its statistics", seconds=None),)


def _lock_class(index: IndexDefinition, online: bool) -> Locked:
    if online:
        return Locked.BRIEFLY
    return Locked.WRITES if index.kind in {NONCLUSTERED, NONCLUSTERED_COLUMNSTORE} else Locked.ALL


def _locks(index: IndexDefinition, online: bool, settings: SqlserverSettings) -> str:
    waits = _patience(settings)
    if online:
        last = "S" if index.kind in {NONCLUSTERED, NONCLUSTERED_COLUMNSTORE} else "Sch-M"
        return f"IS on the table while it is built, {last} for a moment at the end, behind which others queue; {waits}"
    if index.kind in {NONCLUSTERED, NONCLUSTERED_COLUMNSTORE}:
        return f"S on the table while it is built: reads go on, writes wait; {waits}"
    return f"Sch-M on the table while it is built: no reads, no writes; {waits}"


def _patience(settings: SqlserverSettings) -> str:
    return f"waits at most {format_seconds(settings.lock_timeout)} for a lock"
