"""The route of one table or its indexes, and a table split by hand. Pure.

``table_route`` moves a table, or only its indexes, by SYSPROC.ADMIN_MOVE_TABLE. The procedure copies the table into a
new one while triggers record changes, replays the changes, and swaps the two tables under a short exclusive lock. The
route calls it phase by phase, because the driver cannot cancel a call: a move can stop only between phases.

``landing_in`` chooses the table space of a storage group or folder that a single table goes to.

``by_hand`` writes the script that splits a table by a range of a column: the same procedure with a partitioning clause.
Every row is copied. Source: SQL procedures, ADMIN_MOVE_TABLE (argument data_part); CREATE TABLE, partitioning-clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from connectors.db2.names import Part, identifier, literal, parts_of, whole_name
from connectors.db2.operations import (
    CANCEL,
    KEEP,
    PHASES,
    PROCEDURE,
    READ_ONLY,
    KeyChange,
    Phase,
    Statement,
    TableHomes,
    Tagged,
    copy_by_load,
    move_table,
    reduce_space,
)
from connectors.db2.restrictions import (
    BY_A_PERSON,
    DROP_AND_ADD,
    OF_KEYS,
    belongings,
    may_load,
    refusal,
    remarks,
    written_name,
)
from connectors.db2.sessions import Server
from connectors.db2.settings import Db2Settings
from connectors.db2.sizes import (
    TOOLS,
    TOOLS_NEEDED,
    CopyRoom,
    homes_after,
    log_bytes,
    log_note,
    spaces_without_room,
    transient,
)
from connectors.db2.storage import AT_REST, NEVER_TOUCHED, ServerStorage, TableSpace
from connectors.db2.tables import TableFacts
from connectors.kit.clients import CLP
from connectors.model.formatting import comment, format_bytes
from connectors.model.moves import Border, Bundle, ByHand, FollowUp, Locked, NoRoute, Route

_PURPOSES = {
    "INIT": "make the target and the triggers that note changes of",
    "COPY": "copy the rows of",
    "REPLAY": "replay what changed meanwhile in",
    "SWAP": "swap old and new of",
    "CLEANUP": "count the rows of old and new, and drop what is left of the old",
}


@dataclass(frozen=True, slots=True)
class _Way:
    """How a table is moved, and what others cannot do meanwhile."""

    name: str
    locks: str
    locked: Locked


_SWAP = "exclusive on the table for the moment of SWAP"
_ONLINE = _Way("admin_move_table", f"{_SWAP}; triggers slow its writers until then", Locked.BRIEFLY)
_COPIED_UNDER_SHARE = f"share on the table while it is copied, {_SWAP}"
_BY_LOAD = _Way("admin_move_table by load", _COPIED_UNDER_SHARE, Locked.WRITES)
_READ_ONLY = _Way("admin_move_table, readers only", _COPIED_UNDER_SHARE, Locked.WRITES)
_WITHOUT_KEYS = _Way(
    "admin_move_table without its foreign keys",
    f"{_SWAP}, exclusive on both tables of each foreign key while it is dropped, and while it is added and all rows of "
    "the child are checked",
    Locked.ALL,
)


def _way_of(table: TableFacts, *, loads: bool) -> _Way:
    if table.foreign_keys:
        return _WITHOUT_KEYS
    if not table.column_organised:
        return _ONLINE
    return _BY_LOAD if loads else _READ_ONLY


def table_route(
    table: TableFacts | None,
    bundle: Bundle,
    source: TableSpace | None,
    target: TableSpace | None,
    settings: Db2Settings,
    room: CopyRoom | None = None,
    server: Server | None = None,
) -> Route | NoRoute:
    """The route, or why there is none.

    Args:
        table: that the bundle is, or whose indexes it is; None: it is gone.
        bundle: what to move.
        source: where it is.
        target: where to; None: there is no such table space.
        settings: limits, and whether the original is kept.
        room: for the protocol and the log; None: not known.
        server: whether a LOAD has to leave a copy; None: not known, so that it has to.
    """
    room = room or CopyRoom()
    found = _space_refusal(table, bundle, source, target, room)
    if found is not None:
        return found
    assert table is not None, "a missing table is refused above"
    assert source is not None, "a missing source is refused above"
    assert target is not None, "a missing target is refused above"
    against = refusal(table, keys_go=settings.foreign_keys in {DROP_AND_ADD, BY_A_PERSON})
    if against is not None:
        code, sentence = against
        setting = f"foreign_keys: {settings.foreign_keys}" if code in OF_KEYS else ""
        return NoRoute(code=code, sentence=sentence, setting=setting)
    # A LOAD makes the dictionary of a column-organised table at once; its rows are in no log.
    loads = table.column_organised and (bool(settings.load_copy_to) or may_load(server))
    route = _route(table, bundle, source, target, settings, room, loads=loads)
    if table.foreign_keys and settings.foreign_keys == BY_A_PERSON:
        return route.by_a_person("foreign_keys: by_hand: a person drops the keys, moves the table and adds them", CLP)
    return route


def _space_refusal(
    table: TableFacts | None, bundle: Bundle, source: TableSpace | None, target: TableSpace | None, room: CopyRoom
) -> NoRoute | None:
    if table is None:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
    if target is None:
        return NoRoute(code="no_space", sentence=f"there is no such table space to move {bundle.key} to")
    reasons = (
        (source is None, "no_home", f"the table space of {bundle.key} is not known"),
        (source == target, "already_there", f"{bundle.key} is already in {target.name}"),
        (target.name in NEVER_TOUCHED, "system_space", f"{target.name} is for the system only"),
        (not target.permanent, "temporary_space", f"{target.name} is a temporary table space"),
        (target.state != "NORMAL", "not_normal", f"{target.name} is in state {target.state}"),
        *_of_spaces(table, bundle, source, target),
        (
            room.tools_bytes is not None and room.tools_bytes < TOOLS_NEEDED,
            "no_room_for_protocol",
            f"{TOOLS} is full, where ADMIN_MOVE_TABLE keeps its protocol: make room there",
        ),
    )
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def _of_spaces(
    table: TableFacts, bundle: Bundle, source: TableSpace | None, target: TableSpace
) -> Iterator[tuple[bool, str, str]]:
    """Why the table spaces of its parts would not fit together, or the table not into its target."""
    name, here = written_name(table), "" if source is None else source.partition_group
    groups = f"{target.name} is in database partition group {target.partition_group}, {name} in {here}"
    yield (
        source is not None and here != target.partition_group,
        "partition_group",
        f"{groups}: its data, indexes and LOBs have to be in one; create it anew there and load it",
    )
    into = f"{target.name} is SMS, where ADMIN_MOVE_TABLE cannot put indexes and LOBs (SQL0284N)"
    yield target.system_managed, "sms", into
    stays = _left_in_sms(table, bundle, source, target)
    yield bool(stays), "sms", f"{name} is in SMS table space {table.space}, where its {stays} cannot stay (SQL0284N)"
    limit = target.max_bytes
    yield (
        limit is not None and bundle.size_bytes > limit,
        "max_size",
        f"{target.name} may grow to {format_bytes(limit or 0)} (MAXSIZE): too small for {bundle.key}",
    )


def _left_in_sms(table: TableFacts, bundle: Bundle, source: TableSpace | None, target: TableSpace) -> str:
    """Parts of a table that would stay in SMS without the others; "" where none would."""
    if source is None or not source.system_managed:
        return ""
    after = homes_after(table, bundle, target.name)
    parts = (("rows", after.data), ("indexes", after.index), ("LOBs", after.lob))
    return " and ".join(what for what, where in parts if where == source.name)


def _route(
    table: TableFacts,
    bundle: Bundle,
    source: TableSpace,
    target: TableSpace,
    settings: Db2Settings,
    room: CopyRoom,
    *,
    loads: bool,
) -> Route:
    now = TableHomes(table.space, table.index_space, table.lob_space)
    words = Tagged(
        there=_without_keys(table, _phases(table, homes_after(table, bundle, target.name), settings, loads=loads)),
        back=_without_keys(table, _phases(table, now, settings, loads=loads)),
        seconds=settings.move_timeout,
    )
    way = _way_of(table, loads=loads)
    cancel = _call(table, CANCEL, f"cancel the unfinished move of {bundle.key}")
    clean_up = _call(table, PHASES[-1], f"drop what the finished move of {bundle.key} has left")
    return Route(
        name=way.name,
        bundle=bundle,
        to_space=target.name,
        prologue=(lock_timeout(settings),),
        steps=words.steps(),
        undo_steps=() if source.system_managed else words.undo_steps(),
        tidy_steps=words.tidy(cancel, clean_up, *_add_step(table)),
        tidy_locks="exclusive on the table for the moment in which its triggers are dropped",
        online=way.locked is Locked.BRIEFLY,
        locks=way.locks,
        locked=way.locked,
        lock_seconds=settings.lock_timeout,
        follow_up=FOLLOW_UP,
        log_bytes=log_bytes(bundle, room),
        transient_bytes=transient(bundle, room),
        # A table and its indexes are one copy, whichever of them the bundle is; two such moves in one plan would copy
        # it twice.
        rewrites=written_name(table),
        combines=True,
        notes=(
            *_notes(table, bundle, source, settings, loads=loads),
            *remarks(table),
            *spaces_without_room(table, room),
            *log_note(bundle, room),
        ),
        keeps=belongings(table),
    )


FOLLOW_UP = (FollowUp(what="packages that use it are validated again when they next run", seconds=None),)


def lock_timeout(settings: Db2Settings) -> str:
    """The first statement of every move's session."""
    return f"SET CURRENT LOCK TIMEOUT {max(1, round(settings.lock_timeout))}"


def _phases(table: TableFacts, homes: TableHomes, settings: Db2Settings, *, loads: bool) -> tuple[Statement, ...]:
    options = [KEEP] if settings.keep_original else []
    if table.column_organised:
        # Without writers, as IBM's own samples copy them, by LOAD or by INSERT.
        options += [READ_ONLY, *([copy_by_load(settings.load_copy_to)] if loads else [])]
    name = written_name(table)
    first, *later = (f"{_PURPOSES[phase]} {name}" for phase in PHASES)
    return (
        _call(table, PHASES[0], first, homes, ",".join(options)),
        *(_call(table, phase, purpose) for phase, purpose in zip(PHASES[1:], later, strict=True)),
    )


def _without_keys(table: TableFacts, phases: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The phases with its foreign keys dropped before them and added after them."""
    return (*_drop_step(table), *phases, *_add_step(table))


def _drop_step(table: TableFacts) -> Iterator[Statement]:
    for key in table.foreign_keys:
        change = KeyChange(*key.child, key.name, adds=False)
        yield Statement(key.drop, f"drop foreign key {key}", change.as_operation())


def _add_step(table: TableFacts) -> Iterator[Statement]:
    for key in table.foreign_keys:
        change = KeyChange(*key.child, key.name, adds=True)
        yield Statement(key.add, f"add foreign key {key} again, checked", change.as_operation())


def _call(table: TableFacts, phase: str, purpose: str, homes: TableHomes | None = None, options: str = "") -> Statement:
    call = Phase(table.schema, table.name, homes or TableHomes("", "", ""), phase)
    return Statement(move_table(table.schema, table.name, homes, options, phase), purpose, call.as_operation())


def _notes(
    table: TableFacts, bundle: Bundle, source: TableSpace, settings: Db2Settings, *, loads: bool
) -> tuple[str, ...]:
    notes = ["once begun it is continued, cancelled and undone by the same user only", "its counters restart at zero"]
    parts = parts_of(bundle)
    if Part.TABLE not in parts:
        notes.append(f"the whole table is copied within {table.space}, which needs that room once more meanwhile")
    elif Part.INDEX not in parts:
        notes.append(f"its indexes are rebuilt in {table.index_space}, which needs room for both copies meanwhile")
    if table.foreign_keys:
        named = ", ".join(str(key) for key in table.foreign_keys)
        notes.append(
            f"nobody checks {named} from before the copy until after it: rows that have no parent by then keep such a "
            "key from being added (SQL0667N), which is told until it is there; whoever carries it out owns the key then"
        )
    if table.column_organised:
        notes.append(f"writers are shut out while it is copied; {_recovery(settings.load_copy_to, loads=loads)}")
    if source.system_managed:
        notes.append(f"there is no way back into {source.name}, which is SMS")
    if settings.keep_original:
        notes.append(
            "the original table is kept under another name (key ORIGINAL of SYSTOOLS.ADMIN_MOVE_TABLE), and takes its "
            "room until somebody drops it"
        )
    if table.analysed:
        notes.append("SWAP collects its statistics again, which reads the table once more")
    else:
        runstats = f"RUNSTATS ON TABLE {written_name(table)} AND INDEXES ALL"
        notes.append(f"it has no statistics, nor will it have any: {runstats}")
    if source.reclaimable and source.automatic:
        notes.append(f"afterwards {reduce_space(source.name)} gives back what it leaves free")
    return tuple(notes)


def _recovery(folder: str, *, loads: bool) -> str:
    if not loads:
        return "it is copied by INSERT, whose rows are in the log (load_copy_to would let it be loaded)"
    if not folder:
        return "COPY_USE_LOAD is not recoverable, and no archive of logs is kept: take a backup"
    return f"the load leaves its copy in {folder} on the server, which a roll-forward and a standby read"


def landing_in(
    storage: ServerStorage, home: str, source: TableSpace | None, settings: Db2Settings, wanted: Sequence[str] = ()
) -> TableSpace | NoRoute:
    """The one that the configuration names, else the first by name that could take it; or why there is none.

    Pages have to be as large as where the table is: a row may be too long for smaller ones, and larger ones may have
    no buffer pool of their size. By name, not by room, so that the same move is the same proposal tomorrow.

    Args:
        storage: as it is now.
        home: the storage group, the folder, or the table space that is a space of its own.
        source: where the table is now; None: not known.
        settings: for ``landing``.
        wanted: names of those where it was before, when it goes back; the first one is the table's.
    """
    names = tuple(wanted) or tuple(name for name in (settings.landing.get(home),) if name)
    named = [space for space in map(storage.space_named, names) if space is not None and storage.home_of(space) == home]
    if len(named) < len(names):
        said = "it came from" if wanted else "landing: names"
        return NoRoute(code="no_landing", sentence=f"{said} {', '.join(names)}, but not all of them are in {home} now")
    if named:
        return named[0]
    for space in sorted(storage.spaces.values(), key=lambda space: space.name):
        if storage.home_of(space) == home and _takes(space, source):
            return space
    pages = "" if source is None else f" with pages of {source.page_bytes // 1024} KiB"
    return NoRoute(
        code="no_landing",
        sentence=f"{home} has no table space{pages} for single tables; create one, or name it in landing:",
    )


def with_landing(route: Route | NoRoute, home: str, space: TableSpace, leaves: Sequence[str]) -> Route | NoRoute:
    """A route to a table space, restated as one to its storage; ``leaves``: the table space of each unit now."""
    if isinstance(route, NoRoute):
        return route
    return replace(
        route,
        to_space=home,
        joins=whole_name(space.name),
        leaves=tuple(whole_name(name) for name in leaves),
        notes=(f"it goes to table space {space.name} of {home}", *route.notes),
    )


def _takes(space: TableSpace, source: TableSpace | None) -> bool:
    return (
        space.permanent
        and space.name not in NEVER_TOUCHED
        and space.state == "NORMAL"
        and space.mode == AT_REST
        and not space.system_managed
        and (source is None or (space.page_bytes, space.partition_group) == (source.page_bytes, source.partition_group))
    )


UNIQUE_INDEXES = (
    "SELECT INDNAME, COLNAMES FROM SYSCAT.INDEXES "
    "WHERE UNIQUERULE <> 'D' AND TABSCHEMA = {schema} AND TABNAME = {table}"
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def by_hand(table: TableFacts | None, bundle: Bundle, border: Border, to_space: str) -> ByHand | NoRoute:
    """The statements, or why there is no way.

    Args:
        table: as the catalog has it; None: it is gone.
        bundle: the table.
        border: where it is split.
        to_space: table space of rows from the border on.
    """
    if table is None:
        return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
    if table.partitions > 1 or not table.space:
        return NoRoute(code="partitioned", sentence=f"{written_name(table)} is partitioned already")
    if table.column_organised:
        return NoRoute(code="column_organised", sentence=f"{written_name(table)} is column-organised: no ranges there")
    refused = refusal(table)
    if refused is not None:
        return NoRoute(code=refused[0], sentence=refused[1])
    value = border.value if _NUMBER.fullmatch(border.value) else literal(border.value)
    column, name = identifier(border.column), f"{identifier(table.schema)}.{identifier(table.name)}"
    ranges = (
        f"({column}) (STARTING MINVALUE ENDING {value} EXCLUSIVE IN {identifier(table.space)}, "
        f"STARTING {value} ENDING MAXVALUE IN {identifier(to_space)})"
    )
    arguments = (table.schema, table.name, "", "", "", "", "", ranges, "", "", "MOVE")
    return ByHand(
        statements=(
            comment("unique indexes must contain the column, or be made NOT PARTITIONED beforehand:"),
            UNIQUE_INDEXES.format(schema=literal(table.schema), table=literal(table.name)),
            comment("how many rows go where; it reads the table:"),
            f"SELECT COUNT(*) FROM {name} WHERE {column} >= {value}",  # noqa: S608  # quoted names
            comment("reads and writes go on and are noted by triggers; an exclusive lock for a moment at the swap;"),
            comment("room for the table once more; MOVE is all phases in one call; INIT, COPY, REPLAY and SWAP, with"),
            comment("COUNT_BIG(*) of both tables after it, let you look before CLEANUP drops what the table was:"),
            f"CALL {PROCEDURE}({','.join(literal(argument) for argument in arguments)})",
            comment("should it end in between:"),
            f"CALL {PROCEDURE}({','.join(literal(each) for each in (*arguments[:2], *[''] * 8, 'CANCEL'))})",
        ),
        because="it copies all rows, and hotplace has no way back for a table that has become partitioned",
    )
