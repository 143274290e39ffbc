"""What there is: spaces with their room, and every table, partition, index and LOB object with its home and size."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from connectors.db2.names import NO_TABLES, Key, Name, Part, Tables, bundle_number, physical_id, whole_name
from connectors.db2.sessions import ReadSession, Row
from connectors.db2.space_move import containers_of, paths_of
from connectors.db2.storage import NEVER_TOUCHED, ServerStorage, TableSpace, read_storage
from connectors.model.moves import UnitKind
from connectors.model.observation import I32, I64, NO_PARENT, NO_WIDE, Catalog, Space, UnitTable


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit before it becomes a row of columns."""

    number: int
    key: Key
    kind: UnitKind
    size_bytes: int
    home: int  # number of its table space
    parent: int
    bundle: int
    table: Name  # that it is, or belongs to


@dataclass(frozen=True, slots=True)
class Homes:
    """Which table space each unit is in: what ``demand`` needs. Ids ascending."""

    physical_id: I64
    space: I64
    tables: Tables = NO_TABLES


NOTHING_KNOWN = Homes(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def known_homes(homes: Homes, catalog: Catalog) -> Homes:
    """Those of the units that a catalog holds, which need not be the last one that was read."""
    held = catalog.units.rows_of(homes.physical_id) >= 0
    return Homes(homes.physical_id[held], homes.space[held])


@dataclass(slots=True)
class Pages:
    """Pages of one table or partition by object; None where no monitor row tells."""

    data: int = 0
    index: int = 0
    lob: int = 0


@dataclass(frozen=True, slots=True)
class Contents:
    """The catalog's rows as they came."""

    storage: ServerStorage
    tables: Sequence[Row]
    lobs: frozenset[Name]
    partitions: dict[Name, list[Row]]
    indexes: Sequence[Row]
    pieces: dict[tuple[str, str, int], list[Row]]
    pages: dict[tuple[str, str, int], Pages]


def read_catalog(
    session: ReadSession, taken_at: datetime, *, shared: bool, move_by: str, folders: Mapping[str, str] | None = None
) -> tuple[Catalog, Homes, ServerStorage]:
    """Eleven set-based queries.

    Args:
        session: to ask over.
        taken_at: the instant.
        shared: pureScale: sizes of members are the same disk.
        move_by: as configured: what is a space, and what a bundle.
        folders: of containers that table spaces manage themselves.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    by_group = move_by != "table"
    contents = _read(session, shared=shared, folders=folders)
    storage = contents.storage
    units = sorted(_units(contents), key=lambda unit: unit.number)
    names = {number: storage.home_of(space) if by_group else space.name for number, space in storage.spaces.items()}
    spaces = _spaces(storage, units, by_group=by_group)
    homes_by_number = {unit.number: unit.home for unit in units}
    row_of = {space.name: row for row, space in enumerate(spaces)}
    wide, wide_names = _wholes(storage, units) if move_by == "both" else (None, ())
    ids = np.array([unit.number for unit in units], dtype=np.int64)
    table = UnitTable(
        physical_id=ids,
        key=tuple(str(unit.key) for unit in units),
        kind=np.array([unit.kind for unit in units], dtype=np.int8),
        size_bytes=np.array([unit.size_bytes for unit in units], dtype=np.int64),
        space=np.array([row_of[names[unit.home]] for unit in units], dtype=np.int32),
        bundle=np.array(
            [_bundle(unit, storage.spaces[unit.home], homes_by_number, move_by) for unit in units], dtype=np.int64
        ),
        parent=np.array([unit.parent for unit in units], dtype=np.int64),
        wide=wide,
        wide_names=wide_names,
    )
    row_of_table = {name: row for row, name in enumerate(sorted({unit.table for unit in units}))}
    tables = Tables(ids, np.array([row_of_table[unit.table] for unit in units], dtype=np.int64), tuple(row_of_table))
    homes = Homes(ids, np.array([unit.home for unit in units], dtype=np.int64), tables)
    return Catalog(taken_at=taken_at, spaces=spaces, units=table), homes, storage


def _read(session: ReadSession, *, shared: bool, folders: Mapping[str, str] | None) -> Contents:
    return Contents(
        storage=read_storage(session, shared=shared, folders=folders),
        tables=session.rows("tables", doing="reading tables"),
        lobs=frozenset((row[0], row[1]) for row in session.rows("lob_tables", doing="reading LOB columns")),
        partitions=_group_rows(session.rows("partitions", doing="reading data partitions"), 2),
        indexes=session.rows("indexes", doing="reading indexes"),
        pieces=_group_rows(session.rows("index_partitions", doing="reading index partitions"), 3),
        pages=pages_of(session.rows("object_pages", doing="reading sizes"), shared=shared),
    )


def _group_rows(rows: Iterable[Row], columns: int) -> dict[Any, list[Row]]:
    """Rows by their first columns."""
    found: defaultdict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[:columns])].append(row)
    return found


def pages_of(rows: Iterable[Row], *, shared: bool) -> dict[tuple[str, str, int], Pages]:
    """Pages by schema, table and partition: summed over database partitions, on pureScale those of one member."""
    found: dict[tuple[str, str, int], Pages] = {}
    for schema, name, partition, _, data, index, lob, long, xda, col in rows:
        pages = found.setdefault((schema, name, max(0, partition or 0)), Pages())
        more = Pages(
            data=int(data or 0) + int(col or 0),
            index=int(index or 0),
            lob=int(lob or 0) + int(long or 0) + int(xda or 0),
        )
        if shared:
            pages.data, pages.index, pages.lob = (
                max(pages.data, more.data),
                max(pages.index, more.index),
                max(pages.lob, more.lob),
            )
        else:
            pages.data += more.data
            pages.index += more.index
            pages.lob += more.lob
    return found


def _units(contents: Contents) -> list[Unit]:
    """Every unit whose home is known."""
    units: list[Unit] = []
    for row in contents.tables:
        units += _table_units(contents, row)
    units += _index_units(contents)
    return [unit for unit in units if unit.home in contents.storage.spaces]


def _table_units(contents: Contents, row: Row) -> list[Unit]:
    """A table or its partitions, each with its LOB object."""
    schema, name, kind, home, space, _, long_space, _, pages = row
    partitions = contents.partitions.get((schema, name), [])
    if not space or len(partitions) > 1:
        return [unit for part in partitions for unit in _partition_units(contents, (schema, name), part)]
    number = physical_id(Part.TABLE, schema, name, 0, None)
    page_bytes = _page_bytes(contents, home)
    known = contents.pages.get((schema, name, 0))
    size = max(0, int(pages or 0)) if known is None or not known.data else known.data
    word = UnitKind.MATERIALIZED_VIEW if kind == "S" else UnitKind.TABLE
    own = Key(Part.TABLE, schema, name)
    units = [Unit(number, own, word, size * page_bytes, int(home), NO_PARENT, number, (schema, name))]
    if (schema, name) in contents.lobs:
        long_home = contents.storage.space_named(long_space) if long_space else None
        where = int(home) if long_home is None else long_home.number
        units.append(_lob(contents, Key(Part.LOB, schema, name), None, where, number))
    return units


def _partition_units(contents: Contents, table: Name, row: Row) -> list[Unit]:
    schema, name, partition, partition_name, home, long_home, _, pages = row
    if home is None:
        return []  # a partition that is being detached has no home of its own
    number = physical_id(Part.TABLE, schema, name, 0, int(partition))
    known = contents.pages.get((schema, name, int(partition)))
    size = max(0, int(pages or 0)) if known is None or not known.data else known.data
    key = Key(Part.TABLE, schema, name, partition_name)
    bytes_ = size * _page_bytes(contents, home)
    units = [Unit(number, key, UnitKind.TABLE_PARTITION, bytes_, int(home), NO_PARENT, number, table)]
    if table in contents.lobs:
        where = int(home if long_home is None else long_home)
        units.append(_lob(contents, Key(Part.LOB, schema, name, partition_name), int(partition), where, number))
    return units


def _lob(contents: Contents, key: Key, partition: int | None, home: int, table: int) -> Unit:
    known = contents.pages.get((key.schema, key.name, partition or 0), Pages())
    number = physical_id(Part.LOB, key.schema, key.name, 0, partition)
    size = known.lob * _page_bytes(contents, home)
    return Unit(number, key, UnitKind.LOB, size, home, table, table, (key.schema, key.name))


def _index_units(contents: Contents) -> list[Unit]:
    """Indexes, or the pieces of partitioned ones. The indexes of one table share an object, sized by their leaves."""
    leaves: defaultdict[Name, int] = defaultdict(int)
    for row in contents.indexes:
        leaves[(row[2], row[3])] += max(1, int(row[6] or 0))
    partitioned = {name for name, rows in contents.partitions.items() if len(rows) > 1}
    units: list[Unit] = []
    for row in contents.indexes:
        pieces = contents.pieces.get((row[2], row[3], row[4]), [])
        if pieces:
            units += _piece_units(contents, row, pieces)
        else:
            units.append(_index_unit(contents, row, leaves[(row[2], row[3])], (row[2], row[3]) in partitioned))
    return units


def _index_unit(contents: Contents, row: Row, all_leaves: int, of_partitioned: bool) -> Unit:
    schema, name, table_schema, table, iid, home, leaves, _ = row
    number = physical_id(Part.INDEX, table_schema, table, int(iid), None)
    known = contents.pages.get((table_schema, table, 0))
    own = max(1, int(leaves or 0))
    pages = own if known is None or not known.index or of_partitioned else known.index * own // all_leaves
    parent = NO_PARENT if of_partitioned else physical_id(Part.TABLE, table_schema, table, 0, None)
    bundle = number if of_partitioned else physical_id(Part.INDEX, table_schema, table, 0, None)
    size = pages * _page_bytes(contents, home)
    return Unit(
        number, Key(Part.INDEX, schema, name), UnitKind.INDEX, size, int(home), parent, bundle, (table_schema, table)
    )


def _piece_units(contents: Contents, index: Row, pieces: Sequence[Row]) -> list[Unit]:
    schema, name, table_schema, table = index[:4]
    names = {row[2]: row[3] for row in contents.partitions.get((table_schema, table), [])}
    units = []
    for _, _, iid, partition, home, leaves in pieces:
        number = physical_id(Part.INDEX, table_schema, table, int(iid), int(partition))
        key = Key(Part.INDEX, schema, name, names.get(partition, str(partition)))
        size = max(1, int(leaves or 0)) * _page_bytes(contents, home)
        parent = physical_id(Part.TABLE, table_schema, table, 0, int(partition))
        units.append(
            Unit(number, key, UnitKind.INDEX_PARTITION, size, int(home), parent, number, (table_schema, table))
        )
    return units


def _page_bytes(contents: Contents, home: int) -> int:
    space = contents.storage.spaces.get(int(home))
    return 0 if space is None else space.page_bytes


def _bundle(unit: Unit, home: TableSpace, homes: Mapping[int, int], move_by: str) -> int:
    """What it moves with. Where whole table spaces move too, a LOB object in another one than its table goes alone."""
    if move_by == "table_space":
        return bundle_number(home.name)
    if home.system_managed and unit.parent != NO_PARENT:
        return unit.parent  # what shares SMS with its table can leave it only together with the table
    parted = move_by == "both" and unit.key.part is Part.LOB and homes.get(unit.parent) != unit.home
    return unit.number if parted else unit.bundle


def _wholes(storage: ServerStorage, units: Sequence[Unit]) -> tuple[I32, tuple[str, ...]]:
    """Row of the table space of each unit among those that can move as a whole, and what they are called."""
    homes = sorted({unit.home for unit in units if storage.spaces[unit.home].name not in NEVER_TOUCHED})
    row_of = {home: row for row, home in enumerate(homes)}
    rows = np.array([row_of.get(unit.home, NO_WIDE) for unit in units], dtype=np.int32)
    return rows, tuple(whole_name(storage.spaces[home].name) for home in homes)


def _spaces(storage: ServerStorage, units: Sequence[Unit], *, by_group: bool) -> tuple[Space, ...]:
    """Storage groups and the table spaces that have none, or every table space; temporary ones never."""
    holding = {unit.home for unit in units}
    listed = [
        space
        for space in storage.spaces.values()
        if (space.permanent and space.name not in NEVER_TOUCHED) or space.number in holding
    ]
    if not by_group:
        return tuple(_table_space(storage, space) for space in listed)
    unseen = {space.group for space in storage.spaces.values()} - storage.groups.keys() - {""}
    groups = (
        *(_group_space(storage, name) for name in storage.groups),
        *(_unseen_group(storage, name) for name in sorted(unseen)),
    )
    folders = tuple(_folder_space(storage, name) for name in storage.folders)
    own = (_table_space(storage, space) for space in listed if storage.home_of(space) == space.name)
    return (*groups, *folders, *own)


def _table_space(storage: ServerStorage, space: TableSpace) -> Space:
    room = storage.room_of(space)
    return Space(
        name=space.name,
        path=space.containers[0] if space.containers else "",
        used_bytes=space.used_bytes,
        free_bytes=room,
        capacity_bytes=None if room is None else space.used_bytes + room,
        containers=containers_of(space),
        lost=f"it is in state {space.state}" if is_unusable(space.state) else "",
    )


def is_unusable(state: str) -> bool:
    """Whether a table space in that state takes no data until a person acts; one that is backed up or rebalanced does.

    >>> is_unusable("BACKUP_PENDING+OFFLINE"), is_unusable("REBAL_IN_PROGRESS")
    (True, False)
    """
    return any(word == "OFFLINE" or word.endswith("_PENDING") for word in re.findall(r"\w+", state))


def _unseen_group(storage: ServerStorage, name: str) -> Space:
    """A storage group that only its table spaces tell of (SYSCAT.STOGROUPS is hidden): its room is not known."""
    used = sum(space.total_bytes for space in storage.spaces.values() if space.group == name)
    return Space(name=name, path="", used_bytes=used, free_bytes=None, capacity_bytes=None)


def _group_space(storage: ServerStorage, name: str) -> Space:
    """A storage group; its table spaces take what is allocated, used or not."""
    group = storage.groups[name]
    used = sum(space.total_bytes for space in storage.spaces.values() if space.group == name)
    return Space(
        name=name,
        path=group.paths[0] if group.paths else "",
        used_bytes=used,
        free_bytes=group.free_bytes,
        capacity_bytes=None if group.free_bytes is None else used + group.free_bytes,
        containers=paths_of(storage, group),
    )


def _folder_space(storage: ServerStorage, name: str) -> Space:
    """A folder of containers; its room is only known where a container lies in it already."""
    inside = [space for space in storage.spaces.values() if storage.home_of(space) == name]
    used = sum(space.total_bytes for space in inside)
    room = min((space.container_room for space in inside), default=None)
    return Space(
        name=name,
        path=storage.folders[name],
        used_bytes=used,
        free_bytes=room,
        capacity_bytes=None if room is None else used + room,
        containers=tuple(container for space in inside for container in containers_of(space)),
    )
