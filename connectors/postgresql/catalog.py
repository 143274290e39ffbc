"""What there is: spaces with their room, units with their sizes, and what the arithmetic of demand needs of each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

import numpy as np

from connectors.containers import Container
from connectors.model import F64, I64, NO_PARENT, Catalog, Space, UnitTable
from connectors.postgresql.queries import query
from connectors.postgresql.rows import bigint_and_text_rows
from connectors.postgresql.session import ReadSession, Row

BLOCK_BYTES = 8192  # of every build that is in use; only estimates depend on it
_UNIT_COLUMNS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large each unit is in blocks and rows, sorted by ``physical_id``."""

    physical_id: I64
    parent: I64  # table of an index, NO_PARENT for the others
    blocks: F64  # of the unit itself, TOAST not counted
    rows: F64  # NaN where the table was never analyzed; of an index: its entries

    def rows_of(self, physical_id: I64) -> I64:
        """Row of each given id, or -1. Shape ``(len(physical_id),)``."""
        if not len(self.physical_id):
            return np.full(len(physical_id), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.physical_id, physical_id), len(self.physical_id) - 1)
        return np.where(self.physical_id[at] == physical_id, at, -1).astype(np.int64)


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
    return Shape(physical_id=units.physical_id, parent=units.parent, blocks=blocks, rows=rows)


def read_catalog(session: ReadSession, taken_at: datetime, *, local: bool) -> tuple[Catalog, Shape]:
    """Two set-based queries and, when the server is local, one look at the file system for each space.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = session.rows(query("spaces"), doing="reading tablespaces")
    take = partial(bigint_and_text_rows, columns=_UNIT_COLUMNS)
    numbers, keys = session.copy(query("units"), take, doing="reading the catalog")
    ids, kind, size, space_oid, parent, pages, rows = numbers
    units = UnitTable(
        physical_id=ids,
        key=keys,
        kind=kind.astype(np.int8),
        size_bytes=size,
        space=_space_rows(np.array([row[0] for row in found], dtype=np.int64), space_oid),
        bundle=ids,
        parent=np.where(parent == 0, NO_PARENT, parent),
    )
    in_units = np.bincount(units.space, weights=size, minlength=len(found))
    spaces = tuple(_space(row, int(held), local=local) for row, held in zip(found, in_units, strict=True))
    shape = Shape(
        physical_id=ids,
        parent=units.parent,
        blocks=np.where(pages > 0, pages, size / BLOCK_BYTES),
        rows=np.where((rows > 0) | ((rows == 0) & (size == 0)), rows.astype(np.float64), np.nan),
    )
    return Catalog(taken_at=taken_at, spaces=spaces, units=units), shape


def exact_sizes(session: ReadSession, physical_ids: I64) -> I64:
    """Bytes of each unit now, -1 where it is gone.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = session.rows(query("sizes"), {"ids": physical_ids.tolist()}, doing="reading sizes")
    bytes_of = {oid: size for oid, size in found if size is not None}
    return np.array([bytes_of.get(int(oid), -1) for oid in physical_ids], dtype=np.int64)


def _space_rows(space_oids: I64, wanted: I64) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Row of each tablespace oid; the query gives them in ascending order, and every unit has one."""
    return np.searchsorted(space_oids, wanted).astype(np.int32)


def _space(row: Row, in_units: int, *, local: bool) -> Space:
    """One space; where its size may not be asked, what this database keeps in it is the best there is."""
    _, name, path, used = row
    free, capacity = _room(path) if local and path else (None, None)
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


def _room(path: str) -> tuple[int | None, int | None]:
    """Free and total bytes of the file system at ``path``; None where it cannot be seen from here."""
    try:
        at = os.statvfs(Path(path))
    except OSError:
        return None, None
    return at.f_bavail * at.f_frsize, at.f_blocks * at.f_frsize
