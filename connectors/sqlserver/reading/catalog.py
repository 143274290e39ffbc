"""What there is: filegroups with their room, units with their sizes and homes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from connectors.base import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.model import F64, I64, NO_PARENT, Catalog, UnitKind, UnitTable
from connectors.sqlserver.reading.disks import Disks, disk_spaces, homes
from connectors.sqlserver.reading.keys import TABLE_INDEX, Name, index_ids, object_ids, table_ids, unit_ids
from connectors.sqlserver.reading.spaces import PAGE, File, Volume, spaces_of
from connectors.sqlserver.session.sessions import ReadSession, Row
from connectors.sqlserver.settings import Partitions

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
    return {row[0]: Volume(*row[1:]) for row in found if row[2] is not None and row[3] is not None}


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
