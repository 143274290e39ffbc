"""How fast units grow, by the sizes of an earlier catalog, and what a plan has to leave room for because of it.

Two earlier columns of sizes are kept, so that growth is seen over half a day at least once that much has passed. A unit
that was not there then, or that has shrunk, is taken not to grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from connectors.model import F64, I64, Space, UnitTable
from policies.storage.capacity import capacity_bytes

KEPT_SECONDS = 12 * 3600.0  # after which the newer of the two columns becomes the older one
SHORTEST_SECONDS = 600.0  # in less than that growth is a burst
MOST_RATIO = 0.20  # of its size, as much as a move tolerates between its plan and its beginning


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes by one catalog."""

    at: float  # on the monotonic clock
    physical_id: I64  # ascending
    size_bytes: I64

    @classmethod
    def of(cls, units: UnitTable, at: float) -> Sizes:
        """Of a catalog that was read then."""
        return cls(at, units.physical_id, units.size_bytes)


@dataclass(frozen=True, slots=True)
class SizesSeen:
    """Two earlier catalogs."""

    older: Sizes
    newer: Sizes


def remember_sizes(before: SizesSeen | None, units: UnitTable, at: float) -> SizesSeen:
    """The sizes to remember once another catalog was read."""
    if before is None:
        return SizesSeen(Sizes.of(units, at), Sizes.of(units, at))
    if at - before.newer.at < KEPT_SECONDS:
        return before
    return SizesSeen(before.newer, Sizes.of(units, at))


def bytes_per_second(before: SizesSeen, units: UnitTable, at: float) -> F64:
    """How fast each unit has grown since the older catalog, shape ``(n,)``; 0 where too little time has passed."""
    older, elapsed = before.older, at - before.older.at
    if elapsed < SHORTEST_SECONDS or not len(older.physical_id) or not len(units):
        return np.zeros(len(units))
    found = np.minimum(np.searchsorted(older.physical_id, units.physical_id), len(older.physical_id) - 1)
    known = older.physical_id[found] == units.physical_id
    grown = np.where(known, units.size_bytes - older.size_bytes[found], 0)
    return np.asarray(np.maximum(grown, 0) / elapsed, dtype=np.float64)


def expected_growth(rates: F64, units: UnitTable, seconds: float) -> I64:
    """Bytes by which each unit will have grown after that many seconds, shape ``(n,)``, bounded by ``MOST_RATIO``."""
    grown = np.minimum(rates * seconds, MOST_RATIO * units.size_bytes)
    return np.asarray(np.ceil(grown), dtype=np.int64)


def with_growth(spaces: Sequence[Space], units: UnitTable, growth: I64) -> tuple[Space, ...]:
    """The spaces with so much less free as what is in them will have grown; a room that is not known stays so."""
    taken = np.bincount(units.space, weights=growth, minlength=len(spaces)).astype(np.int64).tolist()
    return tuple(_less(space, bytes_) for space, bytes_ in zip(spaces, taken, strict=True))


def _less(space: Space, bytes_: int) -> Space:
    if not bytes_ or (space.capacity_bytes is None and space.free_bytes is None):
        return space
    capacity = capacity_bytes(space)
    free = capacity - space.used_bytes if space.free_bytes is None else space.free_bytes
    return replace(space, free_bytes=min(free, capacity - space.used_bytes) - bytes_, capacity_bytes=capacity)
