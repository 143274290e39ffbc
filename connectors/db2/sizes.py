"""Exact sizes of few units, and the room that copying one needs.

Room that ADMIN_MOVE_TABLE needs in addition to its target: even for a part it rebuilds the whole table. Pure.

Whether a table can be copied now: what ADMIN_GET_TAB_INFO reports in addition to its sizes.

Asked only before a route and again before INIT. An ALTER TABLE or a LOAD leaves a table that every copy would meet with
SQL0668N, and what SYSCAT.TABLES says of it is normal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from connectors.db2.names import Part, parse_key, parts_of, whole_of
from connectors.db2.operations import TableHomes
from connectors.db2.restrictions import written_name
from connectors.db2.sessions import ReadSession, Server
from connectors.db2.storage import ServerStorage, TableSpace
from connectors.db2.tables import LOAD_RUNS, TableFacts
from connectors.model.formatting import format_bytes
from connectors.model.moves import Bundle, UnitKind
from connectors.model.observation import I64, NO_PARENT, Catalog

LOG_RATIO = 1.1  # rows are inserted one by one and logged, as are the indexes built with them
STAGING_RATIO = 0.05  # changes that are noted while the rows are copied
TOOLS = "SYSTOOLSPACE"
TOOLS_NEEDED = 2**20  # bytes; the protocol of one move is a few rows, but a full table space takes none


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRoom:
    """Bytes that a move needs in addition to the target; None: unlimited, not created yet, or unknown."""

    tools_bytes: int | None = None
    log_bytes: int | None = None
    rebuilt_in_place: Mapping[str, int] = field(default_factory=dict)  # parts that stay, by table space
    free: Mapping[str, int | None] = field(default_factory=dict)  # free bytes of those table spaces
    with_target: int = 0  # of ``rebuilt_in_place``, the bytes in the same storage as the target


def homes_after(table: TableFacts, bundle: Bundle, target: str) -> TableHomes:
    """Where data, indexes and LOBs are once the bundle has moved; LOBs that share the table's space go with it.

    Where no user made an index of a table, those that the server makes itself, and later ones, follow it.
    """
    goes = dict.fromkeys(parts_of(bundle), target)
    goes |= {parse_key(key).part: whole_of(name) for key, name in zip(bundle.unit_keys, bundle.homes, strict=False)}
    if Part.TABLE in goes and (not table.lobs or table.lob_space == table.space):
        goes.setdefault(Part.LOB, goes[Part.TABLE])
    if Part.TABLE in goes and not table.named_indexes:
        goes.setdefault(Part.INDEX, goes[Part.TABLE])
    return TableHomes(
        goes.get(Part.TABLE, table.space), goes.get(Part.INDEX, table.index_space), goes.get(Part.LOB, table.lob_space)
    )


def rebuilt_in_place(table: TableFacts, after: TableHomes, sizes: Mapping[Part, int]) -> dict[str, int]:
    """Bytes of the parts that stay where they are, by table space.

    Args:
        table: that is moved, or part of it.
        after: where its parts are to be.
        sizes: bytes of each part of the table.
    """
    return _sums((now, sizes.get(part, 0)) for part, now, then in _homes(table, after) if now == then)


def arriving(table: TableFacts, after: TableHomes, sizes: Mapping[Part, int]) -> dict[str, int]:
    """Bytes of the parts that go elsewhere, by the table space that takes them; arguments as ``rebuilt_in_place``."""
    return _sums((then, sizes.get(part, 0)) for part, now, then in _homes(table, after) if now != then)


def _homes(table: TableFacts, after: TableHomes) -> tuple[tuple[Part, str, str], ...]:
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


def room_of(storage: ServerStorage, server: Server, target: TableSpace | None, in_place: Mapping[str, int]) -> CopyRoom:
    """The room of a move; ``in_place`` as ``Room.rebuilt_in_place``."""
    tools = storage.space_named(TOOLS)
    homes = [space for space in map(storage.space_named, in_place) if space is not None]
    return CopyRoom(
        tools_bytes=None if tools is None else storage.room_of(tools),
        log_bytes=server.log_bytes,
        rebuilt_in_place=in_place,
        free=free_in(storage, in_place),
        with_target=sum(in_place[space.name] for space in homes if target is not None and _copied_share(space, target)),
    )


def free_in(storage: ServerStorage, names: Iterable[str]) -> dict[str, int | None]:
    """Bytes that can still go into each of these table spaces; None: unknown."""
    spaces = [space for space in map(storage.space_named, names) if space is not None]
    return {space.name: storage.room_of(space) for space in spaces}


def _copied_share(one: TableSpace, other: TableSpace) -> bool:
    """Whether what one takes the other no longer has."""
    return one.name == other.name or (bool(one.group) and one.group == other.group)


def spaces_without_room(table: TableFacts, room: CopyRoom) -> tuple[str, ...]:
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


def limits_reached(table: TableFacts, storage: ServerStorage, coming: Mapping[str, int]) -> tuple[str, ...]:
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


def transient(bundle: Bundle, room: CopyRoom) -> int:
    """Bytes of the target's storage that are free again afterwards."""
    return round(STAGING_RATIO * bundle.size_bytes) + room.with_target


def log_bytes(bundle: Bundle, room: CopyRoom) -> int:
    """Bytes of log: every row of the new table, wherever it is."""
    return round(LOG_RATIO * (bundle.size_bytes + sum(room.rebuilt_in_place.values())))


def log_note(bundle: Bundle, room: CopyRoom) -> tuple[str, ...]:
    """COPY commits as it goes (key COMMIT_AFTER_N_ROWS), so a small log is a risk and no obstacle."""
    wanted = log_bytes(bundle, room)
    if room.log_bytes is None or wanted <= room.log_bytes:
        return ()
    log, active = format_bytes(wanted), format_bytes(room.log_bytes)
    return (f"it writes {log} of log and {active} may be active: one old transaction fills it; raise LOGSECOND first",)


KILOBYTE = 1024
GONE = -1
LOAD = "LOAD"


def exact_sizes(session: ReadSession, catalog: Catalog, physical_ids: I64, *, shared: bool) -> I64:
    """Bytes of each unit now, -1 where it is gone; the catalog's estimate while a table is being loaded.

    The indexes of a table share one object, whose size is divided as the catalog's estimate is.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = catalog.units.rows_of(physical_ids)
    asked: dict[tuple[str, str], dict[int, dict[Part, int]]] = {}
    busy = loading(session)
    return np.array(
        [GONE if row < 0 else _size(session, catalog, int(row), asked, busy, shared=shared) for row in rows],
        dtype=np.int64,
    )


def loading(session: ReadSession) -> frozenset[tuple[str, str]]:
    """Tables that a LOAD works on: ADMIN_GET_TAB_INFO would wait for it.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.optional_rows("utilities", doing="looking for a LOAD") or []
    return frozenset((str(row[4]), str(row[5])) for row in rows if str(row[2]).upper() == LOAD)


def _size(
    session: ReadSession,
    catalog: Catalog,
    row: int,
    asked: dict[tuple[str, str], dict[int, dict[Part, int]]],
    busy: frozenset[tuple[str, str]],
    *,
    shared: bool,
) -> int:
    """Bytes of the unit in that row of the catalog."""
    units = catalog.units
    key = parse_key(units.key[row])
    if key.part is Part.INDEX:
        found = session.rows("index", (key.schema, key.name), doing=f"sizing {key}")
        if not found:
            return GONE
        table = (str(found[0][0]), str(found[0][1]))
    else:
        table = (key.schema, key.name)
    if table in busy:
        return int(units.size_bytes[row])
    if table not in asked:
        asked[table] = table_sizes(session, *table, shared=shared)
    sizes = asked[table]
    if not sizes:
        return GONE
    if key.partition is not None:
        number = _partition_number(session, table, key.partition)
        return sizes.get(number, {}).get(key.part, GONE) if key.part is not Part.INDEX else int(units.size_bytes[row])
    total = sum(part[key.part] for part in sizes.values())
    return total if key.part is not Part.INDEX else _share(catalog, row, total)


def table_sizes(session: ReadSession, schema: str, name: str, *, shared: bool) -> dict[int, dict[Part, int]]:
    """Bytes by partition and part; empty where there is no such table.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found: dict[int, dict[Part, int]] = {}
    for _, partition, data, index, long, lob, xml, col in session.rows(
        "object_sizes", (schema, name), doing=f"sizing {schema}.{name}"
    ):
        here = {
            Part.TABLE: (int(data or 0) + int(col or 0)) * KILOBYTE,
            Part.INDEX: int(index or 0) * KILOBYTE,
            Part.LOB: (int(long or 0) + int(lob or 0) + int(xml or 0)) * KILOBYTE,
        }
        before = found.get(max(0, int(partition or 0)))
        if before is None:
            found[max(0, int(partition or 0))] = here
        else:
            for part, size in here.items():
                before[part] = max(before[part], size) if shared else before[part] + size
    return found


def read_rebuilt_in_place(
    session: ReadSession, table: TableFacts, after: TableHomes, *, shared: bool
) -> dict[str, int]:
    """Bytes of a table that are rebuilt where they are, see ``rebuilt_in_place``; empty while a LOAD hides its sizes.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    return rebuilt_in_place(table, after, part_sizes(session, table, shared=shared))


def part_sizes(session: ReadSession, table: TableFacts, *, shared: bool) -> dict[Part, int]:
    """Bytes of rows, indexes and LOBs; empty while a LOAD hides them.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if (table.schema, table.name) in loading(session):
        return {}
    sizes = table_sizes(session, table.schema, table.name, shared=shared)
    return {part: sum(each[part] for each in sizes.values()) for part in Part}


def _partition_number(session: ReadSession, table: tuple[str, str], name: str) -> int:
    rows = session.rows("table_partitions", table, doing="looking up a partition")
    return next((int(row[0]) for row in rows if row[1] == name), GONE)


def _share(catalog: Catalog, row: int, total: int) -> int:
    """The part of an index in all indexes of its table, by the catalog's estimates."""
    units = catalog.units
    parent = int(units.parent[row])
    if parent == NO_PARENT:
        return int(units.size_bytes[row])
    siblings = (units.parent == parent) & (units.kind == UnitKind.INDEX)
    all_of_them = int(units.size_bytes[siblings].sum())
    return total * int(units.size_bytes[row]) // all_of_them if all_of_them else total


def with_condition(session: ReadSession, table: TableFacts) -> TableFacts:
    """The table with what is known of its availability, of a LOAD and of a reorganization that it waits for.

    While a LOAD works on it, nothing else is read: the other queries would wait for its end.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    me = (table.schema, table.name)
    if me in loading(session):
        return replace(table, load_status=LOAD_RUNS)
    rows = session.rows("table_state", me, doing=f"looking at the state of {table.schema}.{table.name}")
    loads = {str(load) for _, _, load in rows if load}
    return replace(
        table,
        available=all(available != "N" for available, _, _ in rows),
        reorg_pending=any(pending == "Y" for _, pending, _ in rows),
        load_status=LOAD_RUNS if LOAD_RUNS in loads else "".join(sorted(loads)[:1]),
    )
