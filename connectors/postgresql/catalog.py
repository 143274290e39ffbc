"""What there is: spaces, units, what else is in a space, and one relation as the catalog shows it now.

What there is: spaces with their room, units with their sizes, and what the arithmetic of demand needs of each.

What else is in a space: partitioned relations, sequences, the system catalog, other databases.

One relation as the catalog shows it now: what routes are made from and what inspect() believes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

import numpy as np
from psycopg import sql

from connectors.kit.contract import NotRecorded, ObjectGone, OtherContent, StatementFailed
from connectors.model.moves import Container, UnitKind
from connectors.model.observation import F32, F64, I8, I32, I64, NO_PARENT, Catalog, Counts, Space, UnitTable
from connectors.model.string_column import StringColumn
from connectors.postgresql.errors import FILE_REFUSED
from connectors.postgresql.rows import bigint_and_text_rows
from connectors.postgresql.sessions import Part, ReadSession, Row, in_extension, query, without_files

Kept = TypeVar("Kept", I8, I32, I64)
BLOCK_BYTES = 8192  # of every build that is in use; only estimates depend on it
_UNIT_COLUMNS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large each unit is in blocks and rows, sorted by ``physical_id``."""

    physical_id: I64
    parent: I64  # table of an index, NO_PARENT for the others, partitions among them
    size_bytes: I64  # TOAST included
    blocks: F32 | F64  # of the unit itself, TOAST not counted; whole numbers that mostly come from the catalog
    rows: F32 | F64  # NaN where the table was never analyzed; of an index: its entries; PostgreSQL keeps a real

    def rows_of(self, physical_id: I64) -> I64:
        """Row of each given id, or -1. Shape ``(len(physical_id),)``."""
        if not len(self.physical_id):
            return np.full(len(physical_id), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.physical_id, physical_id), len(self.physical_id) - 1)
        return np.where(self.physical_id[at] == physical_id, at, -1).astype(np.int64)


def _tables_of_indexes(units: UnitTable) -> I64:
    """Table of each index and NO_PARENT for all others; the units' own column where no partition has a parent."""
    others = (units.parent != NO_PARENT) & ~np.isin(units.kind, (UnitKind.INDEX, UnitKind.INDEX_PARTITION))
    return np.where(others, NO_PARENT, units.parent) if others.any() else units.parent


def shape_of(units: UnitTable, read: Shape | None) -> Shape:
    """The shape of exactly these units: what was read of them, and for the others what their sizes tell.

    Args:
        units: of the catalog that demand is asked for, which need not be the last one that was read.
        read: the last shape that was read, None before the first.
    """
    if read is not None and read.physical_id is units.physical_id:
        return read
    blocks = units.size_bytes / BLOCK_BYTES
    rows = np.full(len(units), np.nan)
    if read is not None and len(read.physical_id):
        at = read.rows_of(units.physical_id)
        blocks = np.where(at >= 0, read.blocks[at], blocks)
        rows = np.where(at >= 0, read.rows[at], rows)
    return Shape(
        physical_id=units.physical_id,
        parent=_tables_of_indexes(units),
        size_bytes=units.size_bytes,
        blocks=blocks,
        rows=rows,
    )


def read_catalog(
    session: ReadSession,
    taken_at: datetime,
    *,
    local: bool,
    before: Catalog | None = None,
    left_out: list[str] | None = None,
    devices: dict[int, int] | None = None,
) -> tuple[Catalog, Shape]:
    """Three set-based queries and, when the server is local, one look at the file system for each space.

    Args:
        session: to ask over.
        taken_at: the instant.
        local: the server is on this machine.
        before: the last catalog; columns that are still the same are its very objects, so that nothing is held twice.
        left_out: is given the names, escaped, of objects that are left out because they are no UTF-8.

        devices: of tablespaces' folders as they were first seen, by oid, to which new ones are added.

    Raises:
        ObjectGone: a tablespace was emptied and dropped while the catalog was read.
        ConnectorError: another subclass that says what may be done.
    """
    unread: list[str] = []

    def take(parts: Iterable[Part]) -> tuple[list[Counts], StringColumn]:
        unread.clear()  # it is called again where the session broke
        return bigint_and_text_rows(parts, _UNIT_COLUMNS, unread)

    unusable: dict[int, str] = {}

    def read_units() -> tuple[list[Counts], StringColumn]:
        text = without_files(query("units"), unusable)
        return session.copy(text, take, doing="reading the catalog", name="units")

    numbers, keys = beside_unusable(session, unusable, read_units)
    if left_out is not None:
        left_out[:] = unread
    # The later, so that none is missing that came.
    found = rows_beside_unusable(session, "spaces", None, "reading tablespaces", unusable)
    units, shape = _units(numbers, keys, [row[0] for row in found], None if before is None else before.units)
    in_units = np.bincount(units.space, weights=units.size_bytes, minlength=len(found))
    lost = _find_lost_spaces(session, found, unusable, {} if devices is None else devices, local=local)
    spaces = tuple(
        _without_room(_space(session, row, int(held), local=local), lost.get(row[1], ""))
        for row, held in zip(found, in_units, strict=True)
    )
    return Catalog(taken_at=taken_at, spaces=spaces, units=units, unsettled=_read_unsettled(session)), shape


def _without_room(space: Space, lost: str) -> Space:
    """A space that cannot take data: what is free at its folder is of the file system below, and no room of it."""
    return replace(space, lost=lost, free_bytes=None, capacity_bytes=None) if lost else space


Read = TypeVar("Read")


def beside_unusable(session: ReadSession, unusable: dict[int, str], read: Callable[[], Read]) -> Read:
    """What ``read`` gives; where the server cannot use files of a tablespace, once more without asking for those.

    Args:
        session: to ask which tablespaces these are.
        unusable: oid and reason of each of them, which ``read`` leaves out; some are added.
        read: the question.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    try:
        return read()
    except StatementFailed as error:
        if error.native_code != FILE_REFUSED or not (found := _find_unusable(session)):
            raise
    unusable.update(found)
    return read()


def rows_beside_unusable(
    session: ReadSession,
    name: str,
    values: Mapping[str, object] | None,
    doing: str,
    unusable: dict[int, str] | None = None,
) -> list[Row]:
    """Rows of a query that asks for files, see ``beside_unusable``."""
    left_out = {} if unusable is None else unusable

    def read() -> list[Row]:
        return session.rows(without_files(query(name), left_out), values, doing=doing, name=name)

    return beside_unusable(session, left_out, read)


def _find_unusable(session: ReadSession) -> dict[int, str]:
    """Why the server cannot use files of a tablespace, by its oid; each is asked alone: one ends a query over all."""
    found = {}
    for space, relation in session.rows(query("readable"), doing="looking at tablespaces"):
        try:
            session.rows(
                query("readable_space"),
                {"space_id": space, "relation": relation},
                doing="looking at a tablespace's files",
            )
        except StatementFailed as error:
            if error.native_code != FILE_REFUSED:
                raise
            found[space] = f"the server cannot use its files ({str(error).partition(': ')[2] or error})"
    return found


def _find_lost_spaces(
    session: ReadSession, found: list[Row], unusable: dict[int, str], devices: dict[int, int], *, local: bool
) -> dict[str, str]:
    """Why a space cannot take data now, by its name; spaces that can are left out."""
    gone = "the server does not find its folder {}: is its file system mounted?"
    try:
        rows = rows_beside_unusable(session, "lost_spaces", None, "looking at tablespaces", unusable)
        missing = {name for (name,) in rows}
    except NotRecorded:  # by an earlier version
        missing = set()
    lost = {name: gone.format(path) for _, name, path, _ in found if name in missing}
    lost.update({name: unusable[oid] for oid, name, _, _ in found if oid in unusable})
    for oid, name, path, _ in found if local else ():
        if not path or name in lost:
            continue
        try:
            there, writable, device = session.folder(path)
        except NotRecorded:
            continue
        if not there:
            lost[name] = gone.format(path)
        elif not writable:
            lost[name] = f"the file system at {path} is mounted read-only"
        elif device is not None and devices.setdefault(oid, device) != device:
            # By the space and not by its path: that changes where the link in pg_tblspc leads elsewhere.
            lost[name] = f"its folder {path} is on another device than before; if that is meant, start the agent again"
    return lost


def _read_unsettled(session: ReadSession) -> I64:
    """Ids of indexes whose counters may become those of others; read after the units, so that none is missing."""
    try:
        rows = session.rows(query("unsettled"), doing="reading indexes that are being built")
    except NotRecorded:  # by an earlier version
        rows = []
    return np.array([oid for (oid,) in rows], dtype=np.int64)


def _units(
    numbers: list[Counts], keys: StringColumn, space_oids: list[int], old: UnitTable | None
) -> tuple[UnitTable, Shape]:
    """Units and their shape. Takes the columns off ``numbers``, in the order of the query, one after the other."""

    def same(name: str, column: Kept) -> Kept:
        """The old column where nothing in it has changed."""
        kept: Kept = column if old is None else getattr(old, name)
        return kept if old is not None and np.array_equal(kept, column) else column

    ids = same("physical_id", numbers.pop(0).astype(np.int64))
    kind = same("kind", numbers.pop(0).astype(np.int8))
    size = numbers.pop(0).astype(np.int64)
    space = same("space", _space_rows(np.array(space_oids, dtype=np.int64), numbers.pop(0)))
    parent = numbers.pop(0).astype(np.int64)
    parent[parent == 0] = NO_PARENT
    pages, rows = numbers
    units = UnitTable(
        physical_id=ids,
        key=old.key if old is not None and old.key == keys else keys,
        kind=kind,
        size_bytes=size,
        space=space,
        bundle=ids,
        parent=same("parent", parent),
    )
    shape = Shape(
        physical_id=ids,
        parent=_tables_of_indexes(units),
        size_bytes=size,
        blocks=np.where(pages > 0, pages, size / BLOCK_BYTES).astype(np.float32),
        # 0 rows are believed of an empty file only: the catalog may hold a count from before the rows came.
        rows=np.where((rows > 0) | ((rows == 0) & (size == 0)), rows, np.nan).astype(np.float32),
    )
    return units, shape


def exact_sizes(session: ReadSession, physical_ids: I64) -> I64:
    """Bytes of each unit now, -1 where it is gone.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = rows_beside_unusable(session, "sizes", {"ids": physical_ids.tolist()}, "reading sizes")
    bytes_of = {oid: size for oid, size in found if size is not None}
    return np.array([bytes_of.get(int(oid), -1) for oid in physical_ids], dtype=np.int64)


def _space_rows(space_oids: I64, wanted: Counts) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Row of each tablespace oid, of those that the query gives in ascending order.

    Raises:
        ObjectGone: there is none of that oid.
    """
    there = np.isin(wanted, space_oids, kind="sort")  # one by one where they are few: truth values and nothing else
    if not there.all():
        raise ObjectGone(
            f"tablespace {int(wanted[~there][0])} was dropped while the catalog was read", advice="It is read again."
        )
    return np.searchsorted(space_oids, wanted).astype(np.int32)


def _space(session: ReadSession, row: Row, in_units: int, *, local: bool) -> Space:
    """One space; where its size may not be asked, what this database keeps in it is the best there is."""
    _, name, path, used = row
    free, capacity = session.room(path) if local and path else (None, None)
    held = in_units if used is None else int(used)
    folder = Container(name=path, path=path, size_bytes=held, used_bytes=held, growth_bytes=free)
    return Space(
        name=name,
        path=path,
        used_bytes=held,
        free_bytes=free,
        capacity_bytes=capacity,
        containers=(folder,) if path else (),
    )


_SHOWN = 10  # names of many databases
_PARTITIONED = {"p": ("table", "TABLE", ""), "I": ("index", "INDEX", "the index of ")}


def read_other_contents(session: ReadSession, space: str, to_space: str) -> tuple[OtherContent, ...]:
    """What is in a tablespace, or names it, and is no unit; see ``sql/other_contents.sql``.

    Args:
        session: to ask over.
        space: the tablespace.
        to_space: where statements take it, "": to where most partitions are, else to the database's default.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = rows_beside_unusable(session, "other_contents", {"space": space}, "looking for what else is there")
    of_kind: dict[str, list[Row]] = {}
    for row in rows:
        of_kind.setdefault(row[0], []).append(row)
    ((_, database, _, _, usual),) = of_kind["o"]
    found = [
        _partitioned(kind, name, space, (to_space, elsewhere, usual))
        for kind in _PARTITIONED
        for _, name, _, _, elsewhere in of_kind.get(kind, ())
    ]
    whole = (
        f"part of the default tablespace of the database: only ALTER DATABASE {database} SET TABLESPACE moves it, "
        "while no session is connected and to a tablespace that holds none of its objects yet"
    )
    for _, _, count, size, _ in of_kind.get("S", ()):
        found.append(OtherContent(_counted(count, "sequence"), size, whole))
    for _, _, _, size, _ in of_kind.get("s", ()):
        found.append(OtherContent("the system catalog", size, f"with large objects, {whole}"))
    for _, _, count, size, _ in of_kind.get("t", ()):
        found.append(OtherContent(_counted(count, "temporary relation"), size, "gone once their sessions end"))
    if others := [row[1] for row in of_kind.get("d", ())]:
        names = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
        what = f"{_counted(len(others), 'other database')}: {names}"
        why = "what they hold there is seen only when connected to them: drain the space in each"
        found.append(OtherContent(what, None, why))
    return tuple(found)


def _partitioned(kind: str, name: str, space: str, targets: Iterable[str | None]) -> OtherContent:
    """A partitioned relation, with the statement to the first of the targets that is another tablespace."""
    what, keyword, of = _PARTITIONED[kind]
    target = next((each for each in targets if each and each != space), None)
    statements = (
        () if target is None else (f"ALTER {keyword} {name} SET TABLESPACE {sql.Identifier(target).as_string()}",)
    )
    why = f"no storage, but it names the space: DROP TABLESPACE is refused, and {of}its next partition is made there"
    return OtherContent(f"partitioned {what} {name}", 0, why, statements)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


INDEX, MATERIALIZED_VIEW = "i", "m"


ONE_STORAGE = "this is {}, where all tablespaces lie on the storage that the service chose: a move changes nothing"


@dataclass(frozen=True, slots=True)
class Relation:
    """A row of ``sql/relation.sql``, in its order."""

    oid: int
    schema: str
    name: str
    kind: str  # pg_class.relkind
    partition: bool
    persistence: str  # pg_class.relpersistence
    mapped: bool
    system: bool
    space_oid: int
    space: str
    target_oid: int | None  # None: no tablespace has the target's name
    exclusion: bool
    valid: bool
    table_oid: int
    table_key: str  # of an index the table that it belongs to, else its own
    table_space: str
    table_bytes: int  # of its main fork, which an index is built from; an estimate while it is locked
    indexes: int
    bytes: int | None  # None: dropped while we asked
    file: str | None  # relative to the data directory
    data_directory: str | None  # None: this login may not know it
    wal_level: str
    standby: bool
    system_identifier: int
    deadlock_seconds: float  # deadlock_timeout: who waits for a lock longer than that makes autovacuum give way
    service: str  # managed service that runs the server; "": none that is known
    manager: str = ""  # why only an extension may move it, a sentence without its end; "": none does


def find_relation(session: ReadSession, key: str, space: str) -> Relation | None:
    """The relation of that key, None when there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("relation"), {"key": key, "space": space}, doing=f"looking up {key}")
    return replace(found := Relation(*rows[0]), manager=_manager(session, found, space)) if rows else None


def _manager(session: ReadSession, relation: Relation, space: str) -> str:
    """Why the relation is an extension's, with the function that moves it; "" where it is not."""
    try:
        found = session.rows(query("managers"), doing="looking for extensions that move tables")
    except NotRecorded:  # by an earlier version
        return ""
    for extension, schema, version, by_oid in found:
        try:
            name = _CATALOGS[extension, by_oid]
            asked = in_extension(query(name), schema)
            rows = session.rows(asked, {"table": relation.table_oid}, doing=f"looking at {extension}", name=name)
        except (KeyError, StatementFailed, ObjectGone):
            return (
                f"{extension} {version} has a catalog that hotplace cannot read, so whether {relation.table_key} is "
                "one of its tables is not known"
            )
        if rows:
            return _MANAGED[extension](relation, space, *rows[0])
    return ""


def _of_timescale(relation: Relation, space: str, owner: str, is_part: bool, chunk: str, sorted_by: str | None) -> str:
    to = _literal(space)
    if not is_part:
        return (
            f"{relation.table_key} is a hypertable of TimescaleDB: SELECT attach_tablespace({to}, {_literal(owner)}) "
            "puts its new chunks there, and move_chunk moves those that it has"
        )
    what = "is a chunk" if chunk == relation.table_key else f"holds compressed rows of {chunk}, a chunk"
    # move_chunk refuses a chunk that was never sorted unless it is told by which index.
    moves = (
        f"ALTER TABLE {chunk} SET TABLESPACE {sql.Identifier(space).as_string()}"
        if sorted_by is None
        else f"SELECT move_chunk(chunk => {_literal(chunk)}, destination_tablespace => {to}, "
        f"index_destination_tablespace => {to}, reorder_index => {_literal(sorted_by)})"
    )
    return f"{relation.table_key} {what} of the hypertable {owner} of TimescaleDB: {moves} moves it"


def _literal(text: str) -> str:
    return sql.Literal(text).as_string()


def _of_citus(relation: Relation, space: str, owner: str, shard: int | None) -> str:  # noqa: ARG001  # as the other
    if shard is None:
        return f"{relation.table_key} is a distributed table of Citus: its rows are in shards, on the workers"
    return (
        f"{relation.table_key} is shard {shard} of the table {owner} of Citus, which has to find it: "
        f"citus_move_shard_placement({shard}, ...) moves it to a node whose default tablespace is the fast one"
    )


_CATALOGS = {
    ("timescaledb", False): "timescale_chunks",
    ("timescaledb", True): "timescale_chunks_by_oid",
    ("citus", False): "citus_shards",
}
_MANAGED: Mapping[str, Callable[..., str]] = {"timescaledb": _of_timescale, "citus": _of_citus}
