"""Rows of V$BH and DBA_EXTENTS: which blocks the cache holds, and where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from connectors.model.observation import I64
from tests.labs.oracle.cached_work import UNDO_OBJECT
from tests.labs.oracle.model import BLOCK, Segment
from tests.labs.oracle.views.performance import container_id

if TYPE_CHECKING:
    from tests.labs.oracle.database import EmulatedDatabase

CLASSES = (8, 9, 4)  # of the first blocks of a segment: its bitmaps and its header
DATA_CLASS, UNDO_CLASS = 1, 18
_OBSOLETE = ("XNC", "FORCED_READS", "FORCED_WRITES", "LOBID", "CACHEHINT")


def buffers(db: EmulatedDatabase, instance: int) -> dict[str, Any]:
    """V$BH by columns, the free buffers last."""
    db.forget_gone()
    cache = db.caches[instance - 1]
    objects, blocks, versions, keys = cache.contents()
    file, block = np.zeros_like(objects), np.zeros_like(objects)
    space = np.zeros_like(objects)
    for number, segment in _segments(db).items():
        mine = objects == number
        if mine.any():
            home = db.tablespaces[segment.tablespace]
            file[mine], block[mine] = db.extents.places(segment, home, blocks[mine])
            space[mine] = home.number
    undo = objects == UNDO_OBJECT
    home = next(each for each in db.tablespaces.values() if each.contents == "UNDO")
    file[undo], block[undo], space[undo] = home.files[0].number, blocks[undo], home.number
    elsewhere = [other.contents()[3] for at, other in enumerate(db.caches) if at != instance - 1]
    shared = np.isin(keys, np.concatenate(elsewhere)) if elsewhere else np.zeros(len(keys), dtype=bool)
    status = np.where(versions > 0, "cr", np.where(shared, "scur", "xcur"))
    dirty = np.isin(keys, np.fromiter(cache.dirty, np.int64))
    return _with_free(cache.buffers, {
        "FILE#": file, "BLOCK#": block, "CLASS#": _classes(blocks, undo), "STATUS": status.astype(object),
        "DIRTY": np.where(dirty, "Y", "N").astype(object), "OBJD": objects, "TS#": space,
        "CON_ID": np.full(len(objects), container_id(db), np.int64),
    })  # fmt: skip


def _segments(db: EmulatedDatabase) -> dict[int, Segment]:
    return {segment.data_object_id: segment for segment in db.segments()}


def _classes(blocks: I64, undo: Any) -> I64:
    first = np.minimum(blocks, len(CLASSES))
    return np.where(undo, UNDO_CLASS, np.array([*CLASSES, DATA_CLASS], dtype=np.int64)[first])


def _with_free(size: int, used: dict[str, Any]) -> dict[str, Any]:
    """Rows of buffers that hold nothing behind those that do, and the columns that are the same for all."""
    free = size - len(used["OBJD"])
    empty = {"STATUS": "free", "DIRTY": "N"}
    made = {
        name: np.concatenate((column, np.full(free, empty.get(name, 0), column.dtype))) for name, column in used.items()
    }
    made |= {name: np.zeros(size, np.int64) for name in _OBSOLETE}
    return made | {name: np.full(size, "N", dtype=object) for name in ("TEMP", "PING", "STALE", "DIRECT", "NEW")}


def extents(db: EmulatedDatabase) -> Iterator[dict[str, Any]]:
    """DBA_EXTENTS."""
    db.forget_gone()
    for segment in _segments(db).values():
        for at, extent in enumerate(db.extents.extents(segment, db.tablespaces[segment.tablespace])):
            yield {
                "OWNER": segment.owner, "SEGMENT_NAME": segment.name, "PARTITION_NAME": segment.part or None,
                "SEGMENT_TYPE": segment.kind, "TABLESPACE_NAME": segment.tablespace, "EXTENT_ID": at,
                "FILE_ID": extent.file, "BLOCK_ID": extent.block, "BYTES": extent.blocks * BLOCK,
                "BLOCKS": extent.blocks, "RELATIVE_FNO": extent.file,
            }  # fmt: skip
