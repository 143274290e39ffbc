"""The route of one table, or of the indexes of one: SYSPROC.ADMIN_MOVE_TABLE, phase by phase. Pure.

It copies the table into a new one while triggers note what changes meanwhile, replays that, and swaps the two under a
short exclusive lock. Phase by phase, because the driver cannot cancel a call: between phases one may stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from connectors.db2.belongings import belongings
from connectors.db2.names import Part, parse_key, parts_of, readable, whole_of
from connectors.db2.restrictions import refusal, remarks, written_name
from connectors.db2.server import Server
from connectors.db2.settings import Db2Settings
from connectors.db2.statements import CANCEL, KEEP, PHASES, Homes, Tagged, move_table, reduce_space
from connectors.db2.storage import NEVER_TOUCHED, Storage, TableSpace
from connectors.db2.tables import TableFacts
from connectors.db2.written import detach_attach
from connectors.effects import FollowUp, Locked
from connectors.model import Bundle, NoRoute, Route

LOG_RATIO = 1.1  # rows are inserted one by one and logged, as are the indexes built with them
STAGING_RATIO = 0.05  # changes that are noted while the rows are copied
_PURPOSES = {
    "INIT": "make the target and the triggers that note changes of",
    "COPY": "copy the rows of",
    "REPLAY": "replay what changed meanwhile in",
    "SWAP": "swap old and new of",
    "CLEANUP": "drop what is left of the old",
}
TOOLS = "SYSTOOLSPACE"
TOOLS_NEEDED = 2**20  # bytes; the protocol of one move is a few rows, but a full table space takes none
MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Bytes that a move needs besides the target; None: endless, not made yet, or unknown."""

    tools_bytes: int | None = None
    log_bytes: int | None = None
    beside: Mapping[str, int] = field(default_factory=dict)  # parts that stay are made anew too: by table space
    free: Mapping[str, int | None] = field(default_factory=dict)  # what those table spaces have


def table_route(
    table: TableFacts | None,
    bundle: Bundle,
    source: TableSpace | None,
    target: TableSpace | None,
    settings: Db2Settings,
    room: Room | None = None,
) -> Route | NoRoute:
    """The route, or why there is none.

    Args:
        table: that the bundle is, or whose indexes it is; None: it is gone.
        bundle: what to move.
        source: where it is.
        target: where to; None: there is no such table space.
        settings: limits, and whether the original is kept.
        room: for the protocol and the log; None: not known.
    """
    room = room or Room()
    found = _space_refusal(table, bundle, source, target, room)
    if found is not None:
        return found
    assert table is not None, "a missing table is refused above"
    assert source is not None, "a missing source is refused above"
    assert target is not None, "a missing target is refused above"
    against = refusal(table)
    if against is not None:
        code, sentence = against
        partition = parse_key(bundle.key).partition
        if code == "partitioned" and partition is not None:
            sentence += f". By hand: {detach_attach(table.schema, table.name, partition, target.name)}"
        return NoRoute(code=code, sentence=sentence)
    cramped = _beside_refusal(table, bundle, room)
    return cramped or _route(table, bundle, source, target, settings, room)


def room_of(storage: Storage, server: Server, beside: Mapping[str, int]) -> Room:
    """What there is; ``beside`` as in ``Room``."""
    tools = storage.space_named(TOOLS)
    homes = [space for space in map(storage.space_named, beside) if space is not None]
    return Room(
        tools_bytes=None if tools is None else storage.room_of(tools),
        log_bytes=server.log_bytes,
        beside=beside,
        free={space.name: storage.room_of(space) for space in homes},
    )


def made_beside(table: TableFacts, bundle: Bundle, target: str, sizes: Mapping[Part, int]) -> dict[str, int]:
    """Bytes of the parts that stay where they are, by table space: the whole table is made anew, whatever moves.

    Args:
        table: that is moved, or part of it.
        bundle: what of it.
        target: table space that it goes to.
        sizes: bytes of each part of the table.
    """
    after = homes_after(table, bundle, target)
    homes = (
        (Part.TABLE, table.space, after.data),
        (Part.INDEX, table.index_space, after.index),
        (Part.LOB, table.lob_space, after.lob),
    )
    found: dict[str, int] = {}
    for part, now, then in homes:
        if now == then and sizes.get(part):
            found[now] = found.get(now, 0) + sizes[part]
    return found


def _beside_refusal(table: TableFacts, bundle: Bundle, room: Room) -> NoRoute | None:
    """Why what stays has no place for its second self."""
    for space, needed in room.beside.items():
        free = room.free.get(space)
        if free is not None and free < needed:
            rest = f"{needed / MEBIBYTE:,.0f} MiB of {written_name(table)} are made anew in {space} meanwhile"
            return NoRoute(
                code="no_room_beside",
                sentence=f"{bundle.key}: {rest}, which has {free / MEBIBYTE:,.0f} MiB left; make room there first",
            )
    return None


def _space_refusal(
    table: TableFacts | None, bundle: Bundle, source: TableSpace | None, target: TableSpace | None, room: Room
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
        (
            room.tools_bytes is not None and room.tools_bytes < TOOLS_NEEDED,
            "no_room_for_protocol",
            f"{TOOLS} is full, where ADMIN_MOVE_TABLE keeps its protocol: make room there",
        ),
    )
    return next((NoRoute(code=code, sentence=sentence) for applies, code, sentence in reasons if applies), None)


def homes_after(table: TableFacts, bundle: Bundle, target: str) -> Homes:
    """Where data, indexes and LOBs are once the bundle has moved; LOBs that share the table's space go with it."""
    goes = dict.fromkeys(parts_of(bundle), target)
    goes |= {parse_key(key).part: whole_of(name) for key, name in zip(bundle.unit_keys, bundle.homes, strict=False)}
    if Part.TABLE in goes and (not table.lobs or table.lob_space == table.space):
        goes.setdefault(Part.LOB, goes[Part.TABLE])
    return Homes(
        goes.get(Part.TABLE, table.space), goes.get(Part.INDEX, table.index_space), goes.get(Part.LOB, table.lob_space)
    )


def _route(
    table: TableFacts, bundle: Bundle, source: TableSpace, target: TableSpace, settings: Db2Settings, room: Room
) -> Route:
    now = Homes(table.space, table.index_space, table.lob_space)
    words = Tagged(
        there=_phases(table, homes_after(table, bundle, target.name), settings),
        back=_phases(table, now, settings),
        seconds=settings.move_timeout,
    )
    cancel = move_table(table.schema, table.name, None, "", CANCEL)
    clean_up = move_table(table.schema, table.name, None, "", PHASES[-1])
    return Route(
        name="admin_move_table",
        bundle=bundle,
        to_space=target.name,
        prologue=(lock_timeout(settings),),
        steps=words.steps(),
        undo_steps=words.undo_steps(),
        tidy_steps=words.tidy(
            (cancel, f"cancel the unfinished move of {bundle.key}"),
            (clean_up, f"drop what the finished move of {bundle.key} has left"),
        ),
        online=not table.column_organised,
        locks="exclusive on the table for the moment of SWAP; triggers slow its writers until then",
        locked=Locked.WRITES if table.column_organised else Locked.BRIEFLY,
        lock_seconds=settings.lock_timeout,
        follow_up=FOLLOW_UP,
        log_bytes=_logged(bundle, room),
        transient_bytes=round(STAGING_RATIO * bundle.size_bytes),
        rewrites=f"{readable(table.schema)}.{readable(table.name)}",
        combines=True,
        notes=(*_notes(table, bundle, source, settings), *remarks(table), *_log_note(bundle, room)),
        keeps=belongings(table),
    )


FOLLOW_UP = (FollowUp(what="packages that use it are validated anew when they next run", seconds=None),)


def _log_note(bundle: Bundle, room: Room) -> tuple[str, ...]:
    """COPY commits as it goes (key COMMIT_AFTER_N_ROWS), so a small log is a risk and no obstacle."""
    wanted = _logged(bundle, room)
    if room.log_bytes is None or wanted <= room.log_bytes:
        return ()
    log, active = f"{wanted / MEBIBYTE:,.0f} MiB", f"{room.log_bytes / MEBIBYTE:,.0f} MiB"
    return (f"it writes {log} of log and {active} may be active: one old transaction fills it; raise LOGSECOND first",)


def _logged(bundle: Bundle, room: Room) -> int:
    """Bytes of log: every row of the new table, wherever it is."""
    return round(LOG_RATIO * (bundle.size_bytes + sum(room.beside.values())))


def lock_timeout(settings: Db2Settings) -> str:
    """The first statement of every move's session."""
    return f"SET CURRENT LOCK TIMEOUT {max(1, round(settings.lock_timeout))}"


def _phases(table: TableFacts, homes: Homes, settings: Db2Settings) -> tuple[tuple[str, str], ...]:
    options = [KEEP] if settings.keep_original else []
    if table.column_organised:
        options += ["ALLOW_READ_ACCESS", "COPY_USE_LOAD"]  # the only way of column-organised tables
    name = f"{readable(table.schema)}.{readable(table.name)}"
    return tuple(
        (
            move_table(
                table.schema,
                table.name,
                homes if phase == "INIT" else None,
                ",".join(options) if phase == "INIT" else "",
                phase,
            ),
            f"{_PURPOSES[phase]} {name}",
        )
        for phase in PHASES
    )


def _notes(table: TableFacts, bundle: Bundle, source: TableSpace, settings: Db2Settings) -> tuple[str, ...]:
    notes = ["once begun it is continued, cancelled and undone by the same user only", "its counters begin anew"]
    parts = parts_of(bundle)
    if Part.TABLE not in parts:
        notes.append(f"the whole table is copied within {table.space}, which needs that room once more meanwhile")
    elif Part.INDEX not in parts:
        notes.append(f"its indexes are built anew in {table.index_space}, which needs their room once more meanwhile")
    if table.column_organised:
        notes.append("writers are shut out while it is copied; COPY_USE_LOAD is not recoverable: take a backup")
    if settings.keep_original:
        notes.append("the original stays beside it under another name (key ORIGINAL of SYSTOOLS.ADMIN_MOVE_TABLE)")
    if source.reclaimable and source.automatic:
        notes.append(f"afterwards {reduce_space(source.name)} gives back what it leaves free")
    return tuple(notes)
