"""Load limits of a tier next to its bytes: I/Os its drives can serve, and bytes written to it per day.

A bundle that comes takes its share, one that leaves releases what it would go on to take. The two differ for written
bytes: the copy that brought a bundle stays written when it leaves. Numbers are whole, so that sums do not depend on the
order of moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from connectors.model import F64
from policies.benefit.bundles import MICRO, Bundles
from policies.model.plan import PolicySettings, Situation
from policies.storage.limits import drive_io, written_per_day

PLANNED_IO = 0.8  # of a tier's I/Os, the rest is never planned for: queues grow without bound near the end


@dataclass(slots=True)
class TierLoad:
    """One limit of one tier. Present bundles may exceed it; then none may come until others have left."""

    tier: int
    taken: F64  # (m,) by each bundle that comes
    freed: F64  # (m,) by each bundle that leaves
    room: float  # left of the limit; negative: exceeded

    def can_bear(self, bundle: int, *, present: bool = False) -> bool:
        """Whether the bundle may come; ``present``: from another space of the tier."""
        freed = float(self.freed[bundle]) if present else 0.0
        # At least 0: what causes no load may come even to a tier that is past its limit.
        return float(self.taken[bundle]) - freed <= max(0.0, self.room)

    def shift(self, bundle: int, source: int, target: int, times: int) -> None:
        """Count a bundle that goes from tier to tier (``times`` 1), or undo that (-1)."""
        if target == self.tier:
            self.room -= times * float(self.taken[bundle])
        if source == self.tier:
            self.room += times * float(self.freed[bundle])


def tier_loads_of(bundles: Bundles, situation: Situation, settings: PolicySettings) -> tuple[TierLoad, ...]:
    """The limits of all tiers that have any, with every bundle where it is: millionths of I/Os, and bytes per day."""
    return tuple(load for row in range(len(situation.tiers)) for load in _tier_loads(bundles, situation, settings, row))


def _tier_loads(bundles: Bundles, situation: Situation, settings: PolicySettings, row: int) -> Iterator[TierLoad]:
    limits, here = situation.tiers[row].limits, bundles.tier == row
    if limits.io_per_second is not None:
        io = np.rint(drive_io(bundles.rates, limits) * MICRO)
        most = np.floor(limits.io_per_second * PLANNED_IO * MICRO)
        yield TierLoad(row, io, io, float(most - io[here].sum()))
    if limits.written_bytes_per_day is not None:
        own = np.rint(written_per_day(bundles.rates, settings.block_bytes))
        left = np.floor(limits.written_bytes_per_day) - own[here].sum()
        # The day's copies keep other bundles out, but force none to leave.
        copied = limits.copied_bytes
        yield TierLoad(row, own + bundles.size, own, float(left - copied))
