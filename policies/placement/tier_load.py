"""What a tier bears beside bytes, kept in step with a board: I/Os that its drives serve, bytes written to it in a day.

A bundle that comes takes its share, one that leaves gives back what it would go on to take. The two differ for written
bytes: the copy that brought it stays written when it goes. Numbers are whole, so the order of moves leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from connectors.model import F64
from policies.benefit.bundles import MICRO, Bundles
from policies.model.plan import Beside, PolicySettings, Situation
from policies.storage.limits import drive_io, written_per_day


@dataclass(slots=True)
class TierLoad:
    """One limit of one tier. Bundles that are there may be over it; then nobody comes until others have left."""

    tier: int
    taken: F64  # (m,) by each bundle that comes
    freed: F64  # (m,) by each bundle that leaves
    room: float  # that is left; negative: over the limit

    def bears(self, bundle: int) -> bool:
        """Whether the bundle may come."""
        return float(self.taken[bundle]) <= max(0.0, self.room)

    def shift(self, bundle: int, source: int, target: int, times: int) -> None:
        """Count a bundle that goes from tier to tier (``times`` 1), or that did not after all (-1)."""
        if target == self.tier:
            self.room -= times * float(self.taken[bundle])
        if source == self.tier:
            self.room += times * float(self.freed[bundle])


def tier_loads_of(bundles: Bundles, situation: Situation, settings: PolicySettings) -> tuple[TierLoad, ...]:
    """The limits of all tiers that have any, with everybody where they are: millionths of I/Os, and bytes a day."""
    return tuple(
        strain for row in range(len(situation.tiers)) for strain in _strains(bundles, situation, settings, row)
    )


def _strains(bundles: Bundles, situation: Situation, settings: PolicySettings, row: int) -> Iterator[TierLoad]:
    limits, here = situation.tiers[row].limits, bundles.tier == row
    beside = situation.beside if row == len(situation.tiers) - 1 else Beside()
    if limits.io_per_second is not None:
        io = np.rint(drive_io(bundles.rates, limits) * MICRO)
        most = np.floor(limits.io_per_second * (1.0 - limits.io_head_room_ratio) * MICRO)
        yield TierLoad(row, io, io, float(most - io[here].sum() - beside.whole_io))
    if limits.written_bytes_per_day is not None:
        own = np.rint(written_per_day(bundles.rates, settings.block_bytes))
        left = np.floor(limits.written_bytes_per_day) - own[here].sum() - beside.written
        # The copies of the day keep others from coming, but drive nobody out.
        copied = limits.copied_bytes
        yield TierLoad(row, own + bundles.size, own, float(left - copied))
