"""Room that ADMIN_MOVE_TABLE needs in addition to its target: even for a part it rebuilds the whole table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from connectors.db2.reading.names import Part, parse_key, parts_of, whole_of
from connectors.db2.reading.storage import Storage, TableSpace
from connectors.db2.reading.tables import TableFacts
from connectors.db2.routes.restrictions import written_name
from connectors.db2.routes.statements import Homes
from connectors.db2.session.server import Server
from connectors.formatting import format_bytes
from connectors.model import Bundle

LOG_RATIO = 1.1  # rows are inserted one by one and logged, as are the indexes built with them
STAGING_RATIO = 0.05  # changes that are noted while the rows are copied
TOOLS = "SYSTOOLSPACE"
TOOLS_NEEDED = 2**20  # bytes; the protocol of one move is a few rows, but a full table space takes none


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Bytes that a move needs in addition to the target; None: unlimited, not created yet, or unknown."""

    tools_bytes: int | None = None
    log_bytes: int | None = None
    rebuilt_in_place: Mapping[str, int] = field(default_factory=dict)  # parts that stay, by table space
    free: Mapping[str, int | None] = field(default_factory=dict)  # free bytes of those table spaces
    with_target: int = 0  # of ``rebuilt_in_place``, the bytes in the same storage as the target


def homes_after(table: TableFacts, bundle: Bundle, target: str) -> Homes:
    """Where data, indexes and LOBs are once the bundle has moved; LOBs that share the table's space go with it.

    Where nobody made an index of a table, those that the server makes itself, and later ones, follow it.
    """
    goes = dict.fromkeys(parts_of(bundle), target)
    goes |= {parse_key(key).part: whole_of(name) for key, name in zip(bundle.unit_keys, bundle.homes, strict=False)}
    if Part.TABLE in goes and (not table.lobs or table.lob_space == table.space):
        goes.setdefault(Part.LOB, goes[Part.TABLE])
    if Part.TABLE in goes and not table.named_indexes:
        goes.setdefault(Part.INDEX, goes[Part.TABLE])
    return Homes(
        goes.get(Part.TABLE, table.space), goes.get(Part.INDEX, table.index_space), goes.get(Part.LOB, table.lob_space)
    )


def rebuilt_in_place(table: TableFacts, after: Homes, sizes: Mapping[Part, int]) -> dict[str, int]:
    """Bytes of the parts that stay where they are, by table space.

    Args:
        table: that is moved, or part of it.
        after: where its parts are to be.
        sizes: bytes of each part of the table.
    """
    return _sums((now, sizes.get(part, 0)) for part, now, then in _homes(table, after) if now == then)


def arriving(table: TableFacts, after: Homes, sizes: Mapping[Part, int]) -> dict[str, int]:
    """Bytes of the parts that go elsewhere, by the table space that takes them; arguments as ``rebuilt_in_place``."""
    return _sums((then, sizes.get(part, 0)) for part, now, then in _homes(table, after) if now != then)


def _homes(table: TableFacts, after: Homes) -> tuple[tuple[Part, str, str], ...]:
    return (
        (Part.TABLE, table.space, after.data),
        (Part.INDEX, table.index_space, after.index),
        (Part.LOB, table.lob_space, after.lob),
    )


def _sums(sizes: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for space, size in sizes:
        if size:
            found[space] = found.get(space, 0) + size
    return found


def room_of(storage: Storage, server: Server, target: TableSpace | None, in_place: Mapping[str, int]) -> Room:
    """The room of a move; ``in_place`` as ``Room.rebuilt_in_place``."""
    tools = storage.space_named(TOOLS)
    homes = [space for space in map(storage.space_named, in_place) if space is not None]
    return Room(
        tools_bytes=None if tools is None else storage.room_of(tools),
        log_bytes=server.log_bytes,
        rebuilt_in_place=in_place,
        free=free_in(storage, in_place),
        with_target=sum(in_place[space.name] for space in homes if target is not None and _share(space, target)),
    )


def free_in(storage: Storage, names: Iterable[str]) -> dict[str, int | None]:
    """Bytes that can still go into each of these table spaces; None: unknown."""
    spaces = [space for space in map(storage.space_named, names) if space is not None]
    return {space.name: storage.room_of(space) for space in spaces}


def _share(one: TableSpace, other: TableSpace) -> bool:
    """Whether what one takes the other no longer has."""
    return one.name == other.name or (bool(one.group) and one.group == other.group)


def spaces_without_room(table: TableFacts, room: Room) -> tuple[str, ...]:
    """Table spaces without room for a second copy of the parts that stay there.

    This stops the mover but not a route: the plan may yet move the whole table at once, which needs no such room.
    """
    short = ((space, needed, room.free.get(space)) for space, needed in room.rebuilt_in_place.items())
    return tuple(
        f"{format_bytes(needed)} of {written_name(table)} are rebuilt in {space} meanwhile, which has "
        f"{format_bytes(free)} left: make room there first"
        for space, needed, free in short
        if free is not None and free < needed
    )


def limits_reached(table: TableFacts, storage: Storage, coming: Mapping[str, int]) -> tuple[str, ...]:
    """Table spaces whose own limit (MAXSIZE) leaves too little for what of the table goes there.

    A plan sees the room of storage groups and table spaces, not the limit of the table space where a table lands.
    """
    limited = ((space, storage.space_named(space), needed) for space, needed in coming.items())
    found = ((name, needed, storage.room_of(space)) for name, space, needed in limited if space and space.max_bytes)
    return tuple(
        f"{format_bytes(needed)} of {written_name(table)} go to {name}, which takes {format_bytes(room)} more (MAXSIZE)"
        for name, needed, room in found
        if room is not None and room < needed
    )


def transient(bundle: Bundle, room: Room) -> int:
    """Bytes of the target's storage that are free again afterwards."""
    return round(STAGING_RATIO * bundle.size_bytes) + room.with_target


def log_bytes(bundle: Bundle, room: Room) -> int:
    """Bytes of log: every row of the new table, wherever it is."""
    return round(LOG_RATIO * (bundle.size_bytes + sum(room.rebuilt_in_place.values())))


def log_note(bundle: Bundle, room: Room) -> tuple[str, ...]:
    """COPY commits as it goes (key COMMIT_AFTER_N_ROWS), so a small log is a risk and no obstacle."""
    wanted = log_bytes(bundle, room)
    if room.log_bytes is None or wanted <= room.log_bytes:
        return ()
    log, active = format_bytes(wanted), format_bytes(room.log_bytes)
    return (f"it writes {log} of log and {active} may be active: one old transaction fills it; raise LOGSECOND first",)
