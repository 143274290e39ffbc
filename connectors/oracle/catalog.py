"""What there is: tablespaces and places with their room, units with their sizes.

What a move names: a tablespace, or, where whole tablespaces move, the place that their data files are in.

A place is an ASM disk group (``+FAST``) or a folder (``/ssd/oradata``). No view lists folders: those that hold a file
are known by it, an empty one by configuration, and the room of a folder by configuration only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from connectors.model.moves import Container, UnitKind
from connectors.model.observation import F64, I64, NO_PARENT, Catalog, Space, UnitTable
from connectors.oracle.names import key_of, plain
from connectors.oracle.sessions import CONTAINERS_SINCE, ReadSession, Row, Server, query

MIB = 1 << 20
_NO_ROOM_TOLD = frozenset({"FLEX", "EXTEND"})  # kinds of disk group whose USABLE_FILE_MB is always 0


@dataclass(frozen=True, slots=True)
class DataFile:
    """A row of ``sql/datafiles.sql``, in its order."""

    number: int
    tablespace: str
    path: str
    bytes: int
    online_status: str
    tablespace_status: str

    @property
    def place(self) -> str:
        """Where it is."""
        return place_of(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spaces:
    """The spaces of a catalog and which of them each tablespace belongs to."""

    spaces: tuple[Space, ...]
    row_of: Mapping[str, int]  # by tablespace
    block_bytes: Mapping[str, int]  # by tablespace
    bundle: Mapping[str, int]  # number of the bundle that a tablespace is; empty where objects move one by one


def place_of(path: str) -> str:
    """``+FAST`` of ``+FAST/ORCL/DATAFILE/users.1.2``, ``/ssd/oradata`` of ``/ssd/oradata/users01.dbf``."""
    if path.startswith("+"):
        return path.partition("/")[0]
    return path[: max(path.rfind("/"), path.rfind("\\"))]


def read_spaces(session: ReadSession, places: Sequence[str] | None) -> Spaces:
    """Tablespaces with their room, or places.

    Args:
        session: to ask over.
        places: that configuration adds to those that hold a file; None: tablespaces are the spaces.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("spaces"), doing="reading tablespaces")
    block_bytes = {row[0]: int(row[1]) for row in rows}
    if places is not None:
        return _by_place(session, places, block_bytes)
    groups, files = read_groups(session, [str(row[5] or "") for row in rows]), read_files(session)
    return Spaces(
        spaces=tuple(
            replace(space, containers=containers_of(file for file in files if file.tablespace == space.name))
            for space in (space_of(row, groups) for row in rows)
        ),
        row_of={row[0]: at for at, row in enumerate(rows)},
        block_bytes=block_bytes,
        bundle={},
    )


def containers_of(files: Iterable[DataFile]) -> tuple[Container, ...]:
    """Data files. What is used in one would take DBA_FREE_SPACE, which is never asked."""
    return tuple(
        Container(
            name=file.path,
            path=file.path,
            size_bytes=file.bytes,
            used_bytes=None,
            growth_bytes=None,
            holder=file.tablespace,
        )
        for file in files
    )


def read_groups(session: ReadSession, paths: Iterable[str]) -> dict[str, Row]:
    """Disk groups by name; not asked for where no path is in one."""
    if not any(path.startswith("+") for path in paths):
        return {}
    return {row[0]: row for row in session.rows(query("disk_groups"), doing="reading disk groups")}


def read_files(session: ReadSession) -> tuple[DataFile, ...]:
    """Every data file of permanent data."""
    return tuple(DataFile(*row) for row in session.rows(query("datafiles"), doing="reading data files"))


def home_of_tablespace(files: Sequence[DataFile]) -> str:
    """The place that holds most of it."""
    size: Counter[str] = Counter()
    for file in files:
        size[file.place] += file.bytes
    return max(size, key=lambda place: (size[place], place))


def _by_place(session: ReadSession, places: Sequence[str], block_bytes: Mapping[str, int]) -> Spaces:
    files = read_files(session)
    groups = read_groups(session, [*places, *(file.path for file in files)])
    names = sorted({*places, *(f"+{name}" for name in groups), *(file.place for file in files)})
    own = {name: [file for file in files if file.tablespace == name] for name in block_bytes}
    held = {name: sum(file.bytes for file in files if file.place == name) for name in names}
    return Spaces(
        spaces=tuple(
            replace(
                _place(name, held[name], groups), containers=containers_of(file for file in files if file.place == name)
            )
            for name in names
        ),
        row_of={name: names.index(home_of_tablespace(some)) for name, some in own.items() if some},
        block_bytes=block_bytes,
        bundle={name: -1 - at for at, name in enumerate(sorted(own))},  # no object id is negative
    )


def _place(name: str, held: int, groups: Mapping[str, Row]) -> Space:
    """A file takes what is allocated to it, used or not."""
    free = _usable(groups.get(name[1:])) if name.startswith("+") else None
    capacity = None if free is None else held + free
    return Space(name=name, path=name, used_bytes=held, free_bytes=free, capacity_bytes=capacity)


def space_of(row: Row, groups: Mapping[str, Row]) -> Space:
    """One tablespace with the room its files have and may grow to; a disk group bounds the growth.

    Whether a file system has the room that autoextend promises, no view tells: configuration may state less.
    """
    name, _, used, allocated, limit, path = row
    if allocated is None:
        return Space(name=name, path="", used_bytes=int(used or 0), free_bytes=None, capacity_bytes=None)
    growth = int(limit) - int(allocated)
    usable = _usable(groups.get(place_of(str(path))[1:])) if str(path).startswith("+") else None
    capacity = int(allocated) + (growth if usable is None else min(growth, usable))
    free = None if used is None else max(0, capacity - int(used))
    return Space(name=name, path=str(path), used_bytes=int(used or 0), free_bytes=free, capacity_bytes=capacity)


def _usable(group: Row | None) -> int | None:
    """Bytes that a disk group has left, mirroring counted; negative ones are none. None where it does not say."""
    if group is None or group[1] in _NO_ROOM_TOLD:
        return None
    return max(0, int(group[2])) * MIB


CHUNK = 20  # ids of sql/objects.sql
USUAL_BLOCK_BYTES = 8192.0
IOT_TOP = "IOT - TOP"
CLUSTER = "CLUSTER"  # of DBA_OBJECTS: its tables have no segments of their own

Owning = tuple[str, str, str, str | None]  # family (index, lob, overflow), then the parts of its name
Parts = tuple[str, str, str | None]  # owner, name, partition or subpartition


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of ``sql/units.sql`` and ``sql/objects.sql``, in its order."""

    object_id: int
    data_object_id: int | None
    owner: str
    name: str
    part: str | None
    type: str  # of DBA_OBJECTS
    bytes: int | None  # None: no segment (partitioned, deferred, temporary)
    blocks: int | None
    space: str | None
    buffer_pool: str | None


@dataclass(frozen=True, slots=True)
class Owned:
    """A row of ``sql/owners.sql`` without its first four columns: whose this is."""

    owner: str
    table: str
    part: str | None  # of the table
    detail: str | None  # index type, or the LOB's column


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the arithmetic of demand needs of each unit, by row of the unit table."""

    block_bytes: F64
    segment: I64  # DATA_OBJECT_ID as of the catalog, 0 where there is none
    parts: I64 = field(default_factory=lambda: np.zeros((2, 0), dtype=np.int64))  # indexes of LOBs, and their LOBs
    part_segment: I64 = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # DATA_OBJECT_ID of those indexes

    def counted_segments(self, ids: I64) -> CountedSegments:
        """What counters are asked for, of units with those ids: the index of a LOB with its LOB."""
        objects = np.concatenate((ids, self.parts[1]))
        order = np.argsort(objects, kind="stable")
        every, segment = np.concatenate((ids, self.parts[0])), np.concatenate((self.segment, self.part_segment))
        return CountedSegments(objects[order], every[order], segment[order])


@dataclass(frozen=True, slots=True)
class CountedSegments:
    """Segments that have counters."""

    objects: I64  # the unit that each is asked for with, ascending
    ids: I64
    segment: I64  # DATA_OBJECT_ID as of the catalog

    def of(self, objects: Sequence[int]) -> tuple[list[int], list[int]]:
        """Ids and segments that are asked for with those units."""
        first, past = (np.searchsorted(self.objects, objects, side=side) for side in ("left", "right"))
        rows = np.concatenate([np.arange(a, b) for a, b in zip(first, past, strict=True)])
        return self.ids[rows].tolist(), self.segment[rows].tolist()


NO_SEGMENTS = CountedSegments(*(np.empty(0, dtype=np.int64) for _ in range(3)))


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit before it becomes a row of columns."""

    entry: Entry
    key: str
    kind: UnitKind
    bundle: int
    parent: int


def read_catalog(
    session: ReadSession, taken_at: datetime, server: Server, places: Sequence[str] | None
) -> tuple[Catalog, Shape]:
    """Three set-based queries; one more when there are ASM disk groups, and one when places are the spaces.

    Args:
        session: to ask over.
        taken_at: the instant.
        server: whose catalog it is.
        places: as in ``read_spaces``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = read_spaces(session, places)
    name = "units" if server.number >= CONTAINERS_SINCE else "units_11"
    entries = [Entry(*row) for row in session.rows(query(name), doing="reading the catalog")]
    owned = owned_of(session.rows(query("owners"), doing="reading what belongs to tables"))
    units = [unit for unit in units_of(entries, owned) if unit.entry.space in found.row_of]
    parts, segment_of = _lob_indexes(entries, owned), {entry.object_id: entry.data_object_id or 0 for entry in entries}
    shape = Shape(
        block_bytes=np.array([found.block_bytes[unit.entry.space or ""] for unit in units], dtype=np.float64),
        segment=np.array([unit.entry.data_object_id or 0 for unit in units], dtype=np.int64),
        parts=parts,
        part_segment=np.array([segment_of[each] for each in parts[0].tolist()], dtype=np.int64),
    )
    return Catalog(taken_at=taken_at, spaces=found.spaces, units=_columns(units, found)), shape


def find_entries(session: ReadSession, object_ids: Sequence[int]) -> dict[int, Entry]:
    """The objects of those ids that still exist.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found: dict[int, Entry] = {}
    for values in of_ids(object_ids):
        for row in session.rows(query("objects"), values, doing="looking up objects"):
            found[row[0]] = Entry(*row)
    return found


def of_ids(ids: Sequence[int]) -> Iterator[dict[str, int | None]]:
    """Binds i0, i1 ... of as many queries as it takes.

    Always as many binds: with as many as there are ids, each number of them would be a statement of its own to the
    server.
    """
    for start in range(0, len(ids), CHUNK):
        some: list[int | None] = [int(each) for each in ids[start : start + CHUNK]]
        some += [None] * (CHUNK - len(some))
        yield {f"i{at}": value for at, value in enumerate(some)}


def shape_of(units: UnitTable, read: tuple[I64, Shape] | None) -> Shape:
    """The shape of exactly these units: what was read of them, and the usual block size for the others.

    Args:
        units: of the catalog that demand is asked for, which need not be the last one that was read.
        read: ids and shape that were read last, None before the first.
    """
    block_bytes = np.full(len(units), USUAL_BLOCK_BYTES)
    segment = np.zeros(len(units), dtype=np.int64)
    if read is not None and len(read[0]) and len(units):
        ids, shape = read
        at = np.minimum(np.searchsorted(ids, units.physical_id), len(ids) - 1)
        same = ids[at] == units.physical_id
        block_bytes = np.where(same, shape.block_bytes[at], block_bytes)
        segment = np.where(same, shape.segment[at], segment)
    if read is None:
        return Shape(block_bytes=block_bytes, segment=segment)
    return Shape(block_bytes=block_bytes, segment=segment, parts=read[1].parts)


def exact_sizes(session: ReadSession, physical_ids: I64) -> I64:
    """Bytes of each unit now, -1 where it is gone.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = find_entries(session, [int(i) for i in physical_ids])
    sizes = [found[int(i)].bytes if int(i) in found else None for i in physical_ids]
    return np.array([-1 if size is None else size for size in sizes], dtype=np.int64)


def owned_of(rows: list[Row]) -> dict[Owning, Owned]:
    """The table that owns each index, LOB and overflow segment.

    The family of kinds is part of the key: names may be shared.
    """
    return {(kind.split()[0], owner, name, part): Owned(*rest) for kind, owner, name, part, *rest in rows}


def units_of(entries: Sequence[Entry], owned: Mapping[Owning, Owned]) -> list[Unit]:
    """Every entry that has a segment and can be identified, in order of object id."""
    tables = {(e.owner, e.name, e.part): e.object_id for e in entries if e.type.startswith("TABLE")}
    iots = {(whose.owner, whose.table) for whose in owned.values() if whose.detail == IOT_TOP}
    made = (_unit(entry, owned, tables, iots) for entry in entries if entry.space is not None)
    return [unit for unit in made if unit is not None]


def _lob_indexes(entries: Sequence[Entry], owned: Mapping[Owning, Owned]) -> I64:
    """Object ids of the indexes of LOBs, and of the LOB of each; ascending by the first. Shape ``(2, n)``."""
    lobs = {(e.owner, e.name): e.object_id for e in entries if e.type == "LOB"}
    found = [
        (entry.object_id, lobs[whose.owner, whose.detail or ""])
        for entry in entries
        if (whose := owned.get(("lobindex", entry.owner, entry.name, entry.part))) is not None
        and (whose.owner, whose.detail or "") in lobs
    ]
    return np.array(sorted(found), dtype=np.int64).reshape(len(found), 2).T


def _unit(
    entry: Entry, owned: Mapping[Owning, Owned], tables: Mapping[Parts, int], iots: Set[tuple[str, str]]
) -> Unit | None:
    if entry.type.startswith("TABLE"):
        return _table(entry, owned, tables)
    if entry.type == CLUSTER:
        return Unit(entry, key_of(entry.owner, entry.name, word=CLUSTER), UnitKind.TABLE, entry.object_id, NO_PARENT)
    if entry.type.startswith("INDEX"):
        return _index(entry, owned, tables)
    return _lob(entry, owned, tables, iots)


def _table(entry: Entry, owned: Mapping[Owning, Owned], tables: Mapping[Parts, int]) -> Unit:
    over = owned.get(("overflow", entry.owner, entry.name, None))
    if over is not None:
        parent = tables.get((over.owner, over.table, None), NO_PARENT)
        key = key_of(over.owner, over.table, word="OVERFLOW", part_word=part_word(entry), part=entry.part)
        return Unit(entry, key, UnitKind.TABLE, parent if entry.part is None else entry.object_id, parent)
    key = key_of(entry.owner, entry.name, part_word=part_word(entry), part=entry.part)
    if entry.part is None:
        return Unit(entry, key, UnitKind.TABLE, entry.object_id, NO_PARENT)
    parent = tables.get((entry.owner, entry.name, None), NO_PARENT)
    return Unit(entry, key, UnitKind.TABLE_PARTITION, entry.object_id, parent)


def _index(entry: Entry, owned: Mapping[Owning, Owned], tables: Mapping[Parts, int]) -> Unit | None:
    """An index; the segment of an index-organised table is an index by its type and the table by its meaning."""
    whose = owned.get(("index", entry.owner, entry.name, None))
    if whose is None or whose.detail == "LOB":
        return None  # the index of a LOB follows it, and its own kind of segment is not asked for
    table = tables.get((whose.owner, whose.table, None), NO_PARENT)
    word = part_word(entry)
    if whose.detail == IOT_TOP:
        kind = UnitKind.TABLE if entry.part is None else UnitKind.TABLE_PARTITION
        key = key_of(whose.owner, whose.table, part_word=word, part=entry.part)
        return Unit(entry, key, kind, table if entry.part is None else entry.object_id, NO_PARENT)
    kind = UnitKind.INDEX if entry.part is None else UnitKind.INDEX_PARTITION
    key = key_of(entry.owner, entry.name, word="INDEX", part_word=word, part=entry.part)
    return Unit(entry, key, kind, entry.object_id, table)


def _lob(
    entry: Entry, owned: Mapping[Owning, Owned], tables: Mapping[Parts, int], iots: Set[tuple[str, str]]
) -> Unit | None:
    """A LOB is a bundle of its own; that of an index-organised table moves with it only."""
    whose = owned.get(("lob", entry.owner, entry.name, entry.part))
    if whose is None:
        return None
    anchor = tables.get((whose.owner, whose.table, whose.part), NO_PARENT)
    word = f"LOB ({plain(whose.detail or '')})"
    key = key_of(whose.owner, whose.table, word=word, part_word=part_word(entry), part=whose.part)
    follows = (whose.owner, whose.table) in iots and anchor != NO_PARENT
    return Unit(entry, key, UnitKind.LOB, anchor if follows else entry.object_id, anchor)


def part_word(entry: Entry) -> str:
    """``PARTITION``, ``SUBPARTITION``, or "" for a whole object."""
    if entry.type.endswith("SUBPARTITION"):
        return "SUBPARTITION"
    return "PARTITION" if entry.type.endswith("PARTITION") else ""


def _columns(units: Sequence[Unit], found: Spaces) -> UnitTable:
    return UnitTable(
        physical_id=np.array([unit.entry.object_id for unit in units], dtype=np.int64),
        key=tuple(unit.key for unit in units),
        kind=np.array([unit.kind for unit in units], dtype=np.int8),
        size_bytes=np.array([unit.entry.bytes or 0 for unit in units], dtype=np.int64),
        space=np.array([found.row_of[unit.entry.space or ""] for unit in units], dtype=np.int32),
        bundle=np.array([found.bundle.get(unit.entry.space or "", unit.bundle) for unit in units], dtype=np.int64),
        parent=np.array([unit.parent for unit in units], dtype=np.int64),
    )
