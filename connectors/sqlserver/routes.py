"""Every way to another filegroup, the kindest first, or why there is none. Pure.

``refusal`` says in words why a unit cannot be moved to a filegroup.

``routes_of`` makes a route for every method of SQL Server, with tags and costs. The statements are in ``move_methods``;
``ddl`` says what may be built online.

``by_hand`` writes the script that splits a table by a range of a column: function, scheme, and the clustered index
rebuilt on it. Every row of the clustered index is copied, online if edition and columns allow it. The other indexes
stay where they are, not aligned with the partitions, until they are rebuilt on the scheme. Source: sql-docs, CREATE
PARTITION FUNCTION, CREATE PARTITION SCHEME, CREATE INDEX.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from connectors.model.formatting import comment, format_seconds
from connectors.model.moves import Border, Bundle, ByHand, FollowUp, Locked, NoRoute, Operation, Route, Step
from connectors.sqlserver import ddl
from connectors.sqlserver.ddl import ServerFeatures, may_be_paused, may_build_online, may_have_twin, may_partition
from connectors.sqlserver.definition import (
    CLUSTERED,
    HEAP,
    KNOWN_COMPRESSIONS,
    KNOWN_INDEXES,
    KNOWN_TEMPORAL_TYPES,
    NAMES_OF_LATER_INDEXES,
    NONCLUSTERED,
    NONCLUSTERED_COLUMNSTORE,
    SPATIAL,
    XML,
    DataSpace,
    Definition,
    IndexDefinition,
    Owner,
)
from connectors.sqlserver.keys import name_of, quote
from connectors.sqlserver.move_methods import (
    MADE,
    PREFIX,
    Maker,
    Method,
    MethodStatement,
    back_to_scheme,
    index_of,
    method_for,
    second_index_method,
)
from connectors.sqlserver.operations import digest_of
from connectors.sqlserver.sessions import lock_timeout_statement
from connectors.sqlserver.settings import SqlserverSettings
from connectors.sqlserver.switching import BACK, empty_range, switch_back_method, switch_method

Reason = tuple[object, str, str]
_HISTORY_TABLE = 1
_MADE_TABLE = re.compile(rf"{PREFIX}[0-9a-f]{{8}}_(?:back_)?(?:new|old)")


def refusal(definition: Definition | None, bundle: Bundle, to_space: str, *, lob_moves: bool) -> NoRoute | None:
    """The first reason against the move, None where there is none."""
    index = None if definition is None else definition.index
    if definition is None or index is None or not definition.partitions:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
    return _first(
        (
            *_of_owner(definition.owner, bundle.key),
            *_of_target(definition.space_named(to_space), to_space),
            *_of_source(definition, bundle.key),
            *_of_index(definition, index, bundle),
            *_of_large_objects(definition, index, bundle, lob_moves),
            (definition.homes() == {to_space}, "already_there", f"{bundle.key} is already in {to_space}"),
        )
    )


def _first(reasons: Iterable[Reason]) -> NoRoute | None:
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def _of_owner(owner: Owner, key: str) -> tuple[Reason, ...]:
    made = _MADE_TABLE.fullmatch(name_of(key).table)
    temporal = owner.temporal_type
    published = owner.is_replicated or owner.is_published or owner.is_merge_published
    return (
        (owner.updateability != "READ_WRITE", "standby", "the database is read-only here; moves happen on the primary"),
        (made, "made_by_move", f"{key} is a table that a move has made, and goes with it"),
        (owner.is_ms_shipped, "system_table", f"{key} belongs to the system"),
        (owner.is_memory_optimized, "memory_optimized", f"{key} is memory-optimized: it is not read from disk"),
        (
            temporal not in KNOWN_TEMPORAL_TYPES,
            "unknown_table",
            f"{key} is a table of temporal_type {temporal}, which hotplace does not know how to move",
        ),
        (owner.is_external or owner.is_stretched, "external", f"{key} does not lie in this database's files"),
        (owner.is_filetable, "filetable", f"{key} is a FileTable"),
        (published, "replicated", f"{key} is published for replication"),
        (owner.filestream_space_id, "filestream", f"{key} has FILESTREAM data, which lies in a filegroup of its own"),
    )


def _of_target(target: DataSpace | None, to_space: str) -> tuple[Reason, ...]:
    if target is None:
        return ((True, "no_space", f"there is no filegroup {to_space}"),)
    return (
        (target.read_only, "read_only_space", f"filegroup {to_space} is read-only"),
        (not target.files, "no_files", f"filegroup {to_space} has no file"),
    )


def _of_source(definition: Definition, key: str) -> tuple[Reason, ...]:
    """Nothing is rebuilt out of a filegroup that is read-only (error 1924)."""
    spaces = (definition.space_named(name) for name in sorted(definition.homes()))
    fixed = next((space.name for space in spaces if space is not None and space.read_only), None)
    return ((fixed, "read_only_source", f"{key} lies in filegroup {fixed}, which is read-only"),)


def _of_index(definition: Definition, index: IndexDefinition, bundle: Bundle) -> tuple[Reason, ...]:
    key, kinds = bundle.key, {other.kind for other in definition.indexes}
    special = bool(kinds & {XML, SPATIAL})
    # What an unknown index keeps of its table (row locators, a key) is not known, so neither rows nor keys move.
    unknown = next((other for other in definition.indexes if other.kind not in KNOWN_INDEXES), None)
    refers = index.kind != NONCLUSTERED or index.unique or index.primary_key
    compression = next((p.compression for p in index.partitions if p.compression not in KNOWN_COMPRESSIONS), None)
    history = definition.owner.temporal_type == _HISTORY_TABLE
    large = any(unit.endswith(" lob") for unit in bundle.unit_keys)
    return (
        (
            history and (index.kind == HEAP or large),
            "history_table",
            f"{key} is the history of a temporal table: versioning may refuse what moves a heap or large objects",
        ),
        (unknown is not None and refers, "unknown_index", _unknown_index(key, unknown)),
        (
            compression,
            "unknown_compression",
            f"{key} is compressed by {compression}, which hotplace does not know how to build again",
        ),
        (index.disabled, "disabled_index", f"{key} is disabled; building it would enable it"),
        (
            index.has_filter and index.filter is None,
            "filter_hidden",
            f"the filter of {key} may not be seen by this login: it needs VIEW DEFINITION",
        ),
        (
            special and (index.primary_key or index.kind == CLUSTERED),
            "xml_or_spatial",
            f"an XML or spatial index is built on {key}; SQL Server refuses (error 1996)",
        ),
        (
            definition.owner.fulltext_indexes and index.unique,
            "full_text",
            f"{key} may be the key of the table's full-text index",
        ),
        (special and index.kind == HEAP, "xml_or_spatial", f"{key} has an XML or spatial index"),
        (
            index.kind == HEAP and any(i.has_filter and i.filter is None for i in definition.indexes),
            "filter_hidden",
            f"the filter of an index of {key} may not be seen by this login: it needs VIEW DEFINITION",
        ),
    )


def _unknown_index(key: str, unknown: IndexDefinition | None) -> str:
    if unknown is None:
        return ""
    kind = NAMES_OF_LATER_INDEXES.get(unknown.kind)
    named = f" ({kind})" if kind else ""
    return (
        f"{unknown.name} is an index of type {unknown.kind}{named} on the table of {key}: hotplace does not know what "
        "a move would do to it, so the table stays while the index is there"
    )


def _of_large_objects(
    definition: Definition, index: IndexDefinition, bundle: Bundle, lob_moves: bool
) -> tuple[Reason, ...]:
    """Large objects stay where they are, unless the rebuild switches between partitioned and not."""
    if definition.name.lob:
        return (
            (
                True,
                "lob_stays",
                f"{bundle.key} stays when the table is rebuilt; lob_moves: true moves both, in two rebuilds",
            ),
        )
    together = lob_moves and any(key.endswith(" lob") for key in bundle.unit_keys)
    return (
        (
            together and (index.kind in {HEAP, NONCLUSTERED} or definition.name.partition is not None),
            "lob_stays",
            f"the large objects of {bundle.key} can be moved only with an unpartitioned clustered index",
        ),
    )


TAG = "/* hotplace move"
LOG_FACTOR, MINIMAL_LOG_FACTOR = 1.2, 0.1  # bytes of log a byte: fully logged; pages allocated only
SORT_FACTOR = 0.2  # extra room while it is built


@dataclass(frozen=True, slots=True)
class _Choice:
    """One method of moving, and how its index is built."""

    make: Maker
    online: bool
    resumable: bool = False


def _exchange(settings: SqlserverSettings) -> _Choice:
    return _Choice(partial(switch_method, kept_seconds=settings.keep_original or 0.0), online=False)


def routes_of(
    definition: Definition | None, bundle: Bundle, to_space: str, server: ServerFeatures, settings: SqlserverSettings
) -> tuple[Route, ...] | NoRoute:
    """Routes to the target, pausable ones first, then online ones; or why there is none."""
    against = refusal(definition, bundle, to_space, lob_moves=settings.lob_moves)
    if against is not None:
        return against
    assert definition is not None, "a missing table is refused above"
    if any(key.endswith(" lob") for key in bundle.unit_keys) and not may_partition(server):
        sentence = (
            f"the large objects of {bundle.key} move by a partition function, which this edition has since 2016 only"
        )
        return NoRoute(code="no_partitioning", sentence=sentence)
    return _routes(
        definition, bundle, to_space, server, settings, _choices(definition, bundle, to_space, server, settings)
    )


def exchange_of(
    definition: Definition, bundle: Bundle, to_space: str, server: ServerFeatures, settings: SqlserverSettings
) -> tuple[Route, ...] | NoRoute:
    """The route that copies and exchanges a filled partition alone, or why it cannot."""
    against = refusal(definition, bundle, to_space, lob_moves=settings.lob_moves)
    if against is not None:
        return against
    return _routes(definition, bundle, to_space, server, settings, iter((_exchange(settings),)))


def routes_back(
    definition: Definition | None,
    schemes: tuple[str, str],
    bundle: Bundle,
    to_space: str,
    server: ServerFeatures,
    settings: SqlserverSettings,
) -> tuple[Route, ...] | NoRoute:
    """Routes to the partition scheme that the index came from; none where this no longer fits.

    Args:
        definition: of the unit, with its partitioning.
        schemes: name of that scheme, and of the one that a move made and the index is on.
        bundle: partitions, as they are now.
        to_space: where they were.
        server: what it takes.
        settings: how it is built.
    """
    own, made = schemes
    against = refusal(definition, bundle, to_space, lob_moves=settings.lob_moves)
    if against is not None:
        return against
    assert definition is not None, "a missing table is refused above"
    old, new = definition.scheme_named(own), definition.scheme_named(made)
    moved = {name_of(key).partition or 0 for key in bundle.unit_keys}
    target = definition.space_named(to_space)
    if (
        old is None
        or new is None
        or target is None
        or old.function != new.function
        or index_of(definition).space_id != new.number
        or definition.partitioning is None
        or not definition.partitioning.alone
        or any(old.destinations.get(number) != target.number for number in moved)
    ):
        return NoRoute(code="no_way_back", sentence=f"{bundle.key} does not fit its own scheme {own} any more")
    choices = _built(back_to_scheme(own, made), definition, bundle, server, settings)
    return _routes(definition, bundle, to_space, server, settings, choices)


def routes_to_kept(
    definition: Definition | None,
    bundle: Bundle,
    to_space: str,
    server: ServerFeatures,
    settings: SqlserverSettings,
    made: str,
) -> tuple[Route, ...] | NoRoute:
    """The route that puts kept rows in the place of their copy; none where they no longer fit there.

    Args:
        definition: of the table, with its partitioning.
        bundle: the partition, as it is now.
        to_space: where the kept rows are.
        server: what it takes.
        settings: how statements wait.
        made: what the names of the tables begin with that the move has made.
    """
    against = refusal(definition, bundle, to_space, lob_moves=settings.lob_moves)
    if against is not None:
        return against
    assert definition is not None, "a missing table is refused above"
    way = _Choice(partial(switch_back_method, made=made), online=False)
    return _routes(definition, bundle, to_space, server, settings, iter((way,)))


def _routes(
    definition: Definition,
    bundle: Bundle,
    to_space: str,
    server: ServerFeatures,
    settings: SqlserverSettings,
    choices: Iterator[_Choice],
) -> tuple[Route, ...] | NoRoute:
    found = [(c, _make(c, definition, bundle, to_space, _build(server, settings, c))) for c in choices]
    routes = tuple(
        _route(method, definition, bundle, to_space, choice, _build(server, settings, choice), settings)
        for choice, method in found
        if isinstance(method, Method)
    )
    if routes:
        return routes
    return next(
        (reason for _, reason in found if isinstance(reason, NoRoute)),
        NoRoute(
            code="no_online_build",
            sentence=f"{bundle.key} cannot be built online here, offline is excluded; hotplace doctor writes down how "
            f"the whole of {bundle.space} may change disks",
        ),
    )


def tag_of(route: Route) -> str:
    """The comment that begins every statement of this move, and of no other move."""
    return route.steps[0].sql.partition(" step ")[0] + " "


def number_of(method: Method) -> str:
    """The same for the same statements, so that a plan made twice is the same plan."""
    text = ";".join(statement.sql for statement in (*method.there, *method.back))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _make(choice: _Choice, definition: Definition, bundle: Bundle, to_space: str, build: ddl.Build) -> Method | NoRoute:
    """The method, each statement with a digest of what it builds, independent of settings that only say how."""
    method = choice.make(definition, bundle, to_space, build)
    plain = choice.make(definition, bundle, to_space, build.without_method())
    if not isinstance(method, Method) or not isinstance(plain, Method):
        return method
    return replace(
        method,
        there=tuple(map(_with_digest, method.there, plain.there)),
        back=tuple(map(_with_digest, method.back, plain.back)),
        tidy=tuple(map(_with_digest, method.tidy, plain.tidy)),
    )


def _with_digest(statement: MethodStatement, plain: MethodStatement) -> MethodStatement:
    # The way there and the way back build the same in tables of different names.
    built = plain.sql.replace(BACK, MADE)
    parameters = {**statement.operation.parameters, "builds": digest_of(built)}
    return replace(statement, operation=Operation(statement.operation.name, parameters))


def tag_steps(number: str, word: str, acts: tuple[MethodStatement, ...], limit: float) -> tuple[Step, ...]:
    """Acts as steps: ``/* hotplace move 0123abcd step 1 */``, the number of the move filled in."""

    def text(sql: str, ordinal: int, what: str = "") -> str:
        named = sql.replace(MADE, f"{PREFIX}{number}")
        return f"{TAG} {number} {word} {ordinal}{what} */ {named}" if sql else ""

    def operation(statement: MethodStatement) -> Operation:
        named = {
            k: v.replace(MADE, f"{PREFIX}{number}") if isinstance(v, str) else v
            for k, v in statement.operation.parameters.items()
        }
        return Operation(statement.operation.name, named)

    return tuple(
        Step(
            sql=text(statement.sql, ordinal),
            purpose=statement.purpose.replace(MADE, f"{PREFIX}{number}"),
            undo_sql=text(statement.abort, ordinal, " abort"),
            pause_sql=text(statement.pause, ordinal, " pause"),
            resume_sql=text(statement.resume, ordinal, " resume"),
            timeout_seconds=limit,
            operation=operation(statement),
        )
        for ordinal, statement in enumerate(acts, start=1)
    )


def _choices(
    definition: Definition, bundle: Bundle, to_space: str, server: ServerFeatures, settings: SqlserverSettings
) -> Iterator[_Choice]:
    empty = empty_range(definition, bundle, to_space)
    if empty is not None:
        yield _Choice(lambda *_: empty, online=True)
        return
    if settings.partitions == "switched" and definition.name.partition is not None:
        if settings.offline_moves:
            yield _exchange(settings)
        if len(bundle.unit_keys) > 1:
            return  # each of its indexes would need a build of its own
    yield from _built(method_for(definition, bundle), definition, bundle, server, settings)


def _built(
    plain: Maker, definition: Definition, bundle: Bundle, server: ServerFeatures, settings: SqlserverSettings
) -> Iterator[_Choice]:
    """A build of the index in every way that it can be built."""
    with_lob = any(key.endswith(" lob") for key in bundle.unit_keys)
    if settings.resumable == "all" and may_be_paused(definition, server) and not with_lob:
        yield _Choice(plain, online=True, resumable=True)
    if settings.resumable != "no" and may_have_twin(definition, server):
        yield _Choice(second_index_method, online=True, resumable=True)
    if may_build_online(definition, server):
        yield _Choice(plain, online=True)
    if settings.offline_moves:
        yield _Choice(plain, online=False)


def _build(server: ServerFeatures, settings: SqlserverSettings, choice: _Choice) -> ddl.Build:
    return ddl.Build(
        major=server.major,
        online=choice.online,
        maxdop=settings.maxdop,
        sort_in_tempdb=settings.sort_in_tempdb and not choice.resumable,
        low_priority_minutes=settings.low_priority_minutes,
        resumable=choice.resumable,
    )


def _route(
    method: Method,
    definition: Definition,
    bundle: Bundle,
    to_space: str,
    choice: _Choice,
    build: ddl.Build,
    settings: SqlserverSettings,
) -> Route:
    wait = _lock_wait(method, index_of(definition), build, settings)
    number, limit = number_of(method), settings.move_timeout
    rewritten = method.rebuilds * bundle.size_bytes + method.rewritten_bytes
    full = choice.online or method.logged or definition.owner.recovery_model == "FULL"
    how = "resumable" if choice.resumable else "online" if choice.online else "offline"
    return Route(
        name=method.name if method.locks or method.name.endswith(how) else f"{method.name} {how}",
        bundle=bundle,
        to_space=to_space,
        prologue=(lock_timeout_statement(wait.seconds),),
        steps=tag_steps(number, "step", method.there, limit),
        undo_steps=tag_steps(number, "undo", method.back, limit),
        tidy_steps=tag_steps(number, "tidy", method.tidy, limit),
        tidy_bytes=bundle.size_bytes if method.tidy_copies else 0,
        online=choice.online,
        locks=f"{method.locks}; {wait.words}" if method.locks else _locks(index_of(definition), choice.online, wait),
        locked=method.locked or _lock_class(index_of(definition), choice.online),
        lock_seconds=0.0 if wait.alone else wait.seconds,
        follow_up=FOLLOW_UP,
        log_bytes=round(rewritten * (LOG_FACTOR if full else MINIMAL_LOG_FACTOR)),
        transient_bytes=round(bundle.size_bytes * (method.rebuilds - 1 + SORT_FACTOR)),
        stays_bytes=bundle.size_bytes if method.stays else 0,
        rewrites=method.rewrites,
        notes=(*method.notes, *(() if method.locks else _notes(choice))),
    )


def _notes(choice: _Choice) -> tuple[str, ...]:
    if choice.resumable:
        return (
            "it can be paused: what is built stays, and so does its room",
            "while it is paused other DDL on the table and its TABLOCK loads are refused (error 10637)",
            "2022 and newer give it up when it was paused for PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES, a day",
        )
    return ("the log cannot be truncated while it runs",) if choice.online else ()


FOLLOW_UP = (FollowUp(what="plans of its table are recompiled; the build refreshes its statistics", seconds=None),)


def _lock_class(index: IndexDefinition, online: bool) -> Locked:
    if online:
        return Locked.BRIEFLY
    return Locked.WRITES if index.kind in {NONCLUSTERED, NONCLUSTERED_COLUMNSTORE} else Locked.ALL


@dataclass(frozen=True, slots=True)
class _Wait:
    """How long a statement waits for its lock; ``alone``: no session queues behind it meanwhile."""

    seconds: float
    alone: bool

    @property
    def words(self) -> str:
        held = ", at low priority: none queue behind it" if self.alone else ""
        return f"waits at most {format_seconds(self.seconds)} for a lock{held}"


def _lock_wait(method: Method, index: IndexDefinition, build: ddl.Build, settings: SqlserverSettings) -> _Wait:
    """An online build asks for its last lock when all is copied, which is lost if it does not get it.

    Which of LOCK_TIMEOUT and WAIT_AT_LOW_PRIORITY ends a wait is not documented, so both allow the same time. A
    resumable build loses nothing, and what is no build copies nothing before its lock.
    """
    if method.locks or not build.online or build.resumable:
        return _Wait(settings.lock_timeout, alone=False)
    if index.kind != HEAP and ddl.waits_at_low_priority(index.kind, build):  # DROP INDEX ... MOVE TO of a heap does not
        return _Wait(max(settings.online_lock_timeout, 60.0 * settings.low_priority_minutes), alone=True)
    return _Wait(max(settings.online_lock_timeout, settings.lock_timeout), alone=False)


def _locks(index: IndexDefinition, online: bool, wait: _Wait) -> str:
    if online:
        last = "S" if index.kind in {NONCLUSTERED, NONCLUSTERED_COLUMNSTORE} else "Sch-M"
        queue = "" if wait.alone else ", behind which others queue"
        return f"IS on the table while it is built, {last} for a moment at the end{queue}; {wait.words}"
    if index.kind in {NONCLUSTERED, NONCLUSTERED_COLUMNSTORE}:
        return f"S on the table while it is built: reads go on, writes wait; {wait.words}"
    return f"Sch-M on the table while it is built: no reads, no writes; {wait.words}"


_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_LONGEST = 110  # characters of a name of ours, below the 128 of a name


def by_hand(
    definition: Definition | None, bundle: Bundle, border: Border, to_space: str, server: ServerFeatures,
    settings: SqlserverSettings,
) -> ByHand | NoRoute:  # fmt: skip
    """The statements, or why there is no way.

    Args:
        definition: of the table; None: it is gone.
        bundle: the table.
        border: where it is split.
        to_space: filegroup of rows from the border on.
        server: what it can.
        settings: how indexes are built.
    """
    if definition is None or definition.index is None:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
    refused = _refusal(definition, border, to_space, server)
    if refused is not None:
        return refused
    index, column = definition.index, next(each for each in definition.columns if each.name == border.column)
    kind, name = ddl.type_of(column), f"hotplace_{definition.name.table}"[:_LONGEST]
    assert kind is not None, "refused above"
    value = border.value if _NUMBER.fullmatch(border.value) else "N'" + border.value.replace("'", "''") + "'"
    online = may_build_online(definition, server)
    build = ddl.Build(
        major=server.major, online=online, maxdop=settings.maxdop, sort_in_tempdb=settings.sort_in_tempdb,
        low_priority_minutes=settings.low_priority_minutes,
    )  # fmt: skip
    table = ddl.quoted_table(definition.name)
    held = "reads and writes go on, with a lock for a moment at the begin and the end"
    return ByHand(
        statements=(
            comment("how many rows go where; it reads the table or an index:"),
            f"SELECT COUNT_BIG(*) FROM {table} WHERE {quote(border.column)} >= {value}",  # noqa: S608  # quoted names
            f"CREATE PARTITION FUNCTION {quote(name)} ({kind}) AS RANGE RIGHT FOR VALUES ({value})",
            ddl.create_scheme(name, name, (bundle.space, to_space)),
            comment(
                f"it copies all rows; {held if online else 'offline, since this edition or table has no other way'}:"
            ),
            ddl.rebuild(definition.name, index, build, f"{quote(name)}({quote(border.column)})"),
            comment("back: the same statement with the old filegroup behind ON, then"),
            ddl.drop_scheme(name),
            ddl.drop_function(name),
        ),
        because="it copies all rows, and its other indexes stay unaligned until a person decides about each of them",
    )


def _refusal(definition: Definition, border: Border, to_space: str, server: ServerFeatures) -> NoRoute | None:
    index = definition.index
    assert index is not None, "looked at before"
    column = next((each for each in definition.columns if each.name == border.column), None)
    space = definition.spaces.get(index.space_id)
    keys = {each.name for each in index.keys}
    reasons = (
        (not may_partition(server), "edition", "this edition makes no partition functions before 2016 SP1"),
        (space is not None and space.scheme, "partitioned", "it is partitioned already: SPLIT RANGE adds a part"),
        (index.kind != CLUSTERED, "no_clustered_index", "its rows are in no clustered index: make one on it first"),
        (column is None, "no_column", f"it has no column {border.column!r}"),
        (column is not None and ddl.type_of(column) is None, "type", "no table is partitioned by such a column"),
        (
            bool(index.unique) and border.column not in keys, "unique",
            f"its clustered index is unique and does not contain {border.column}: add it to the key",
        ),
        (definition.space_named(to_space) is None, "no_space", f"there is no filegroup {to_space}"),
    )  # fmt: skip
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)
