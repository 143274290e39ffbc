"""The units of a simulated database and what a transaction does to them, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from connectors.model import F64, I8, I32, I64, NO_PARENT, Bools, UnitKind

FIRST_ID = 16384
COUNTERS = ("logical_reads", "sync_reads", "prefetched_reads", "async_writes")  # pages, cumulative


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitSpec:
    """One unit, declared. Rates are pages per transaction of the whole workload."""

    key: str
    kind: UnitKind
    size_bytes: int
    space: str
    random_reads: float = 0.0  # by key; a session waits for each that misses the buffer pool
    working_share: float = 1.0  # of the unit that random reads go to
    sequential_reads: float = 0.0  # by scans; read ahead, past the buffer pool
    writes: float = 0.0  # later, by a background process
    parent: str = ""  # key of the table it belongs to
    with_parent: bool = False  # moves as one bundle with it

    def plain(self) -> dict[str, Any]:
        """As JSON values; ``UnitSpec(**plain)`` is the inverse."""
        return {**asdict(self), "kind": int(self.kind)}


@dataclass(slots=True)
class Units:
    """Columns, one row per unit that ever was. Rows never move; dropped ones are no longer ``alive``."""

    keys: list[str]
    physical_id: I64
    kind: I8
    size_bytes: I64
    space: I32
    bundle: I64
    parent: I64
    random_reads: F64
    working_bytes: F64
    sequential_reads: F64
    writes: F64
    alive: Bools

    def __len__(self) -> int:
        return len(self.keys)

    def append(self, more: Units) -> None:
        """Add rows."""
        self.keys.extend(more.keys)
        for column in fields(self):
            if column.name != "keys":
                joined = np.concatenate([getattr(self, column.name), getattr(more, column.name)])
                setattr(self, column.name, joined)


def build(specs: Sequence[UnitSpec], spaces: Sequence[str], first_id: int = FIRST_ID) -> Units:
    """Columns for a few declared units; a parent stands before its children.

    Raises:
        LookupError: a spec names a parent or space that is not there.
    """
    ids = {spec.key: first_id + at for at, spec in enumerate(specs)}
    rows = {name: row for row, name in enumerate(spaces)}
    parents = [ids[spec.parent] if spec.parent else NO_PARENT for spec in specs]
    bundles = [p if spec.with_parent else ids[spec.key] for spec, p in zip(specs, parents, strict=True)]
    sizes = np.array([spec.size_bytes for spec in specs], dtype=np.int64)
    return Units(
        keys=[spec.key for spec in specs],
        physical_id=np.arange(first_id, first_id + len(specs), dtype=np.int64),
        kind=np.array([spec.kind for spec in specs], dtype=np.int8),
        size_bytes=sizes,
        space=np.array([rows[spec.space] for spec in specs], dtype=np.int32),
        bundle=np.array(bundles, dtype=np.int64),
        parent=np.array(parents, dtype=np.int64),
        random_reads=np.array([spec.random_reads for spec in specs], dtype=np.float64),
        working_bytes=np.array([spec.size_bytes * spec.working_share for spec in specs], dtype=np.float64),
        sequential_reads=np.array([spec.sequential_reads for spec in specs], dtype=np.float64),
        writes=np.array([spec.writes for spec in specs], dtype=np.float64),
        alive=np.ones(len(specs), dtype=np.bool_),
    )
