"""What there is: filegroups and disks with their room, units with their sizes and homes.

Filegroups with their room: in their files, and what the files may still grow on their volumes. Pure.

Folders as spaces, for ``move_by: filegroup``: a filegroup lies where its files are. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

import numpy as np

from connectors.kit.contract import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.model.moves import Container, UnitKind
from connectors.model.observation import F64, I64, NO_PARENT, Catalog, Space, UnitTable
from connectors.sqlserver.keys import TABLE_INDEX, Name, index_ids, object_ids, table_ids, unit_ids
from connectors.sqlserver.sessions import ReadSession, Row
from connectors.sqlserver.settings import Partitions

PAGE = 8192
UNLIMITED, LOG_LIMIT = -1, 268435456  # max_size of a file: without limit; 2 TB, which stands for none in old catalogs


@dataclass(frozen=True, slots=True)
class File:
    """A row of ``sql/spaces.sql``, in its order."""

    space_id: int
    space: str
    read_only: int
    file_id: int | None  # None: the filegroup has no file
    name: str | None
    path: str | None
    size_pages: int | None
    max_size: int | None
    growth: int | None
    state: str | None
    used_pages: int | None  # None: this login may not know
    percent_growth: int = 0  # growth is in percent, not in pages


WRITTEN_MEANWHILE = 256 * 2**20  # bytes, at most, between the rows of two files of one volume


@dataclass(frozen=True, slots=True)
class Volume:
    """Room on the volume under a file."""

    mount_point: str | None  # None on Linux
    total: int
    available: int
    seeks: int | None = None  # 0: solid state, 1: disk, 2: unknown, None: the server does not say

    @property
    def identity(self) -> tuple[object, ...]:
        """The same for files on one volume; volumes without a mount point count as one where their figures agree.

        So room may be understated and is never counted twice.
        """
        return (self.mount_point,) if self.mount_point else (self.total, self.available)


def spaces_of(files: Sequence[File], volumes: Mapping[int, Volume], in_units: Mapping[int, int]) -> tuple[Space, ...]:
    """One space a filegroup, in the order of the files.

    Args:
        files: sorted by filegroup.
        volumes: by file_id; a file that is absent lies where this login cannot look.
        in_units: bytes that the catalog's units hold, by filegroup, for when file space may not be seen.
    """
    grouped = groupby(files, key=lambda file: (file.space_id, file.space))
    return tuple(_space(name, list(rows), volumes, in_units.get(number, 0)) for (number, name), rows in grouped)


def _space(name: str, rows: list[File], volumes: Mapping[int, Volume], in_units: int) -> Space:
    files = [file for file in rows if file.file_id is not None]
    known = all(file.used_pages is not None for file in files)
    used = sum(file.used_pages or 0 for file in files) * PAGE if known else in_units
    inside = max(0, sum(file.size_pages or 0 for file in files) * PAGE - used)
    usable = [file for file in files if file.state == "ONLINE" and not file.read_only]
    # DEFUNCT is for ever: it is left of a filegroup that was given up.
    away = next((file for file in files if file.state not in {"ONLINE", "DEFUNCT", None}), None)
    growth = _growth(usable, volumes)
    free = None if growth is None else (inside + growth if usable else 0)
    return Space(
        name=name,
        path=next((file.path for file in files if file.path), ""),
        used_bytes=used,
        free_bytes=free,
        capacity_bytes=None if free is None else used + free,
        containers=tuple(container_of(file, volumes) for file in files),
        lost="" if away is None else f"its file {away.name} is {away.state}",
    )


def container_of(file: File, volumes: Mapping[int, Volume]) -> Container:
    """One file of a filegroup."""
    volume, limit = volumes.get(file.file_id or 0), growth_limit(file)
    available = None if volume is None else volume.available
    usable = file.state == "ONLINE" and not file.read_only
    return Container(
        name=str(file.name),
        path=str(file.path),
        size_bytes=(file.size_pages or 0) * PAGE,
        used_bytes=None if file.used_pages is None else file.used_pages * PAGE,
        growth_bytes=0 if not (limit and usable) else None if available is None else min(limit, available),
        device="" if volume is None else repr(volume.identity),
        holder=file.space,
    )


def _growth(files: Iterable[File], volumes: Mapping[int, Volume]) -> int | None:
    """Bytes that the files may still grow; None where a file may grow and its volume cannot be seen."""
    room: dict[tuple[object, ...], int] = {}
    wanted: dict[tuple[object, ...], int] = {}
    for file in files:
        limit = growth_limit(file)
        if limit == 0:
            continue
        volume = volumes.get(file.file_id or 0)
        if volume is None:
            return None
        room[volume.identity] = volume.available
        wanted[volume.identity] = wanted.get(volume.identity, 0) + min(limit, volume.available)
    return sum(min(room[at], wanted[at]) for at in wanted)


def growth_limit(file: File) -> int:
    """Bytes that the file may grow by its own settings."""
    if not file.growth or file.max_size == 0:
        return 0
    if file.max_size in {None, UNLIMITED, LOG_LIMIT}:
        return 2**62
    return max(0, ((file.max_size or 0) - (file.size_pages or 0)) * PAGE)


Disks = Mapping[str, str]  # name -> folder, as the server spells it, with its last separator


def disk_of(path: str, disks: Disks) -> str:
    """The disk whose folder the path begins with, the longest one; the path's own folder where there is none."""
    under = [name for name, folder in disks.items() if path.lower().startswith(folder.lower())]
    if under:
        return max(under, key=lambda name: len(disks[name]))
    return folder_of(path)


def folder_of(path: str) -> str:
    """With its last separator, on either system."""
    cut = max(path.rfind("\\"), path.rfind("/"))
    return path[: cut + 1]


def homes(files: Iterable[File], disks: Disks) -> dict[str, str]:
    """The disk of each filegroup: the one that holds most of its pages."""
    pages: dict[str, dict[str, int]] = {}
    for file in files:
        if file.path is not None:
            held = pages.setdefault(file.space, {})
            disk = disk_of(file.path, disks)
            held[disk] = held.get(disk, 0) + _pages(file)
    return {space: max(held, key=lambda disk: held[disk]) for space, held in pages.items()}


def disk_spaces(files: Sequence[File], volumes: Mapping[int, Volume], disks: Disks) -> tuple[Space, ...]:
    """One space a disk, those of the configuration first. Room is what is free on the volumes under its files.

    A disk without a file of this database has no room that the server tells of: the configuration may.
    """
    found: dict[str, list[File]] = {name: [] for name in disks}
    for file in files:
        if file.path is not None:
            found.setdefault(disk_of(file.path, disks), []).append(file)
    return tuple(_disk_space(name, disks.get(name, name), held, volumes) for name, held in found.items())


def _disk_space(name: str, folder: str, files: list[File], volumes: Mapping[int, Volume]) -> Space:
    under = {volume.identity: volume.available for f in files if (volume := volumes.get(f.file_id or 0)) is not None}
    used = sum(_pages(file) for file in files) * PAGE
    free = sum(under.values()) if under else None
    return Space(
        name=name,
        path=folder,
        used_bytes=used,
        free_bytes=free,
        capacity_bytes=None if free is None else used + free,
        containers=tuple(container_of(file, volumes) for file in files),
    )


def _pages(file: File) -> int:
    return (file.size_pages or 0) if file.used_pages is None else file.used_pages


COLUMNSTORES = frozenset({5, 6})  # index types whose segments are stored as large objects and move with the index


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A row of ``sql/units.sql``, in its order."""

    object_id: int
    index_id: int
    partition: int
    schema: str
    table: str
    object_type: str
    index: str | None
    index_type: int
    home_type: str  # FG or PS
    row_space: int | None
    row_pages: int
    lob_space: int | None
    lob_pages: int
    rows: int
    home_space: int  # filegroup or partition scheme

    @property
    def is_table(self) -> bool:
        """Heap or clustered index."""
        return self.index_id <= TABLE_INDEX

    @property
    def partition_number(self) -> int | None:
        """None where the index is not on a partition scheme."""
        return self.partition if self.home_type.strip() == "PS" else None

    def name(self, *, lob: bool) -> Name:
        """Its key, taken apart."""
        return Name(self.schema, self.table, None if self.is_table else self.index, self.partition_number, lob)

    @property
    def kind(self) -> UnitKind:
        """Of its rows."""
        if self.is_table and self.object_type.strip() == "V":
            return UnitKind.MATERIALIZED_VIEW
        parted = self.partition_number is not None
        if self.is_table:
            return UnitKind.TABLE_PARTITION if parted else UnitKind.TABLE
        return UnitKind.INDEX_PARTITION if parted else UnitKind.INDEX


@dataclass(frozen=True, slots=True)
class _Unit:
    row: UnitRow
    lob: bool
    space: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large each unit is in pages, sorted by ``physical_id``."""

    physical_id: I64
    pages: F64
    space: I64  # row in Catalog.spaces


def read_catalog(
    session: ReadSession,
    taken_at: datetime,
    *,
    lob_moves: bool,
    partitions: Partitions = "each",
    disks: Disks | None = None,
) -> Catalog:
    """Three set-based queries.

    Args:
        session: to read with.
        taken_at: now.
        lob_moves: large objects move with their table: one bundle.
        partitions: what of a partitioned index is one bundle.
        disks: what filegroups move between; a filegroup is then one bundle. None: filegroups are the spaces.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    files, volumes = read_files(session), read_volumes(session)
    rows = [UnitRow(*row) for row in session.rows("units", doing="reading the catalog")]
    if disks is not None:
        return _by_disks(rows, files, volumes, disks, taken_at)
    row_of_space = {number: at for at, number in enumerate(dict.fromkeys(file.space_id for file in files))}
    found = [u for row in rows for u in _units(row) if u.space in row_of_space]
    units = _unit_table(found, row_of_space, lob_moves, partitions=partitions)
    held = np.bincount(units.space, weights=units.size_bytes, minlength=len(row_of_space))
    in_units = {number: int(held[at]) for number, at in row_of_space.items()}
    return Catalog(taken_at=taken_at, spaces=spaces_of(files, volumes, in_units), units=units)


def _by_disks(
    rows: list[UnitRow], files: list[File], volumes: Mapping[int, Volume], disks: Disks, taken_at: datetime
) -> Catalog:
    """Disks as spaces, each filegroup one bundle."""
    spaces, home = disk_spaces(files, volumes, disks), homes(files, disks)
    row_of_disk = {space.name: at for at, space in enumerate(spaces)}
    row_of_space = {file.space_id: row_of_disk[home[file.space]] for file in files if file.space in home}
    units = [u for row in rows for u in _units(row) if u.space in row_of_space]
    return Catalog(taken_at=taken_at, spaces=spaces, units=_unit_table(units, row_of_space, None))


def read_files(session: ReadSession) -> list[File]:
    """Files of filegroups; without what is used in them where this login may not know.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    try:
        found = session.rows("spaces", doing="reading filegroups")
    except PrivilegeMissing:
        found = session.rows("spaces_plain", doing="reading filegroups")
    return [File(*row) for row in found]


def read_volumes(session: ReadSession) -> Mapping[int, Volume]:
    """Room under each file by file_id; empty where this login or edition cannot know.

    Raises:
        ConnectorError: the server did not answer.
    """
    try:
        found = session.rows("volumes", doing="reading volumes")
    except (ObjectGone, PrivilegeMissing, StatementFailed):  # Azure SQL Database does not have the function
        return {}
    return settled({row[0]: Volume(*row[1:]) for row in found if row[2] is not None and row[3] is not None})


def settled(volumes: Mapping[int, Volume]) -> Mapping[int, Volume]:
    """The same, with one figure of what is free for all files that may lie on one volume, the least of theirs.

    Linux names no volume, and the server asks for each file alone: what is written meanwhile makes the figures of one
    volume differ by a little, and it would count as several.
    """
    nameless = sorted((each.total, each.available) for each in volumes.values() if not each.mount_point)
    least: dict[tuple[int, int], int] = {}
    for at, (total, available) in enumerate(nameless):
        before = nameless[at - 1] if at else None
        near = before is not None and before[0] == total and available - before[1] <= WRITTEN_MEANWHILE
        least[total, available] = least[before] if near and before is not None else available
    return {
        file: volume if volume.mount_point else replace(volume, available=least[volume.total, volume.available])
        for file, volume in volumes.items()
    }


def exact_sizes(session: ReadSession, physical_ids: I64) -> I64:
    """Reserved bytes of each unit now, -1 where it is gone. One query an object.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    bytes_of: dict[int, int] = {}
    for object_id in np.unique(object_ids(physical_ids)):
        rows = session.rows("sizes", int(object_id), doing="reading sizes")
        bytes_of |= _sizes(rows)
    return np.array([bytes_of.get(int(unit), -1) for unit in physical_ids], dtype=np.int64)


def _sizes(rows: list[Row]) -> dict[int, int]:
    numbers = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    zero = np.zeros(numbers.shape[1], dtype=np.int64)
    found: dict[int, int] = {}
    for lob, pages in ((zero, numbers[3]), (zero + 1, numbers[4])):
        ids = unit_ids(numbers[0], numbers[1], numbers[2], lob)
        found |= dict(zip(ids.tolist(), (pages * PAGE).tolist(), strict=True))
    return found


def _units(row: UnitRow) -> list[_Unit]:
    """A unit for the rows and one for their large objects; a columnstore is one unit, stored as large objects."""
    if row.index_type in COLUMNSTORES:
        return [_Unit(row, False, row.lob_space or row.row_space or 0, row.row_pages + row.lob_pages)]
    found = [_Unit(row, False, row.row_space or 0, row.row_pages)]
    if row.lob_space is not None:
        found.append(_Unit(row, True, row.lob_space, row.lob_pages))
    return found


def _unit_table(
    units: list[_Unit], row_of_space: Mapping[int, int], lob_moves: bool | None, *, partitions: Partitions = "each"
) -> UnitTable:
    """Columns; ``lob_moves`` None: everything in one filegroup moves together."""
    numbers = np.array(
        [(u.row.object_id, u.row.index_id, u.row.partition, u.lob, u.pages, row_of_space[u.space]) for u in units],
        dtype=np.int64,
    ).reshape(-1, 6)
    ids = unit_ids(numbers[:, 0], numbers[:, 1], numbers[:, 2], numbers[:, 3])
    ids, first = np.unique(ids, return_index=True)
    chosen, numbers = [units[at] for at in first], numbers[first]
    own = ids & ~np.int64(1) if lob_moves else ids
    if partitions == "together":
        own = index_ids(own)
    if partitions == "switched":
        own = _with_table(chosen, own)
    if lob_moves is None:
        own = np.array([unit.space for unit in chosen], dtype=np.int64)
    return UnitTable(
        physical_id=ids,
        key=tuple(unit.row.name(lob=unit.lob).key for unit in chosen),
        kind=np.array([UnitKind.LOB if u.lob else u.row.kind for u in chosen], dtype=np.int8),
        size_bytes=numbers[:, 4] * PAGE,
        space=numbers[:, 5].astype(np.int32),
        bundle=own,
        parent=_parents(chosen, ids),
    )


def _with_table(units: list[_Unit], own: I64) -> I64:
    """Bundles in which a partition of an index on its table's scheme goes with the partition of the table."""
    schemes = {u.row.object_id: u.row.home_space for u in units if u.row.is_table and u.row.partition_number}
    along = [not u.lob and schemes.get(u.row.object_id) == u.row.home_space for u in units]
    place = np.array([(u.row.object_id, 0, u.row.partition, 0) for u in units], dtype=np.int64).reshape(-1, 4)
    return np.where(along, unit_ids(place[:, 0], place[:, 1], place[:, 2], place[:, 3]), own).astype(np.int64)


def _parents(units: list[_Unit], ids: I64) -> I64:
    """The table of an index: its partition of the same number, or its first; of large objects: their unit."""
    if not units:
        return np.empty(0, dtype=np.int64)
    tables = table_ids(ids)
    number = np.array([u.row.partition for u in units], dtype=np.int64)
    objects = object_ids(ids)
    zero = np.zeros(len(ids), dtype=np.int64)
    same = unit_ids(objects, zero, number, zero)
    table = np.where(np.isin(same, ids), same, tables)
    is_table = np.array([u.row.is_table for u in units], dtype=np.bool_)
    lob = np.array([u.lob for u in units], dtype=np.bool_)
    parent = np.where(is_table, NO_PARENT, table)
    return np.where(lob, ids & ~np.int64(1), parent).astype(np.int64)
