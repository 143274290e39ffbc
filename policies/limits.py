"""What a tier can bear beside bytes: I/Os per second of its drives and bytes written per day, as plain room for units.

Drive I/Os follow the RAID formula of ``purchase``: reads that no cache answers, and host writes times the factor. What
is read or written in runs costs one I/O per ``RUN_BLOCKS`` blocks. Everything is per unit and adds up, so a solver can
take each limit as one more resource beside capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from connectors.model import F64, I64, Signal
from policies.plan import Tier, TierLimits
from policies.purchase import WRITE_FACTORS

DAY = 86400.0
RUN_BLOCKS = 16.0  # blocks that one sequential I/O moves: 128 KiB of 8 KiB, the usual read-ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class TierRoom:
    """What may still be added to a tier; inf where there is no limit, negative where it is passed already."""

    io_per_second: float
    written_per_day: float  # bytes


def drive_io(rates: F64, limits: TierLimits) -> F64:
    """Drive I/Os per second that each unit causes on a tier, shape ``(n,)``, of rates ``(SIGNALS, n)``."""
    in_runs = rates[Signal.PREFETCHED_READ] + rates[Signal.DIRECT_READ]
    written = rates[Signal.ASYNC_WRITE] + rates[Signal.SYNC_WRITE]
    factor = 1 if limits.raid is None else WRITE_FACTORS[limits.raid]
    return np.asarray(rates[Signal.SYNC_READ] + in_runs / RUN_BLOCKS + written * factor, dtype=np.float64)


def written_per_day(rates: F64, block_bytes: int) -> F64:
    """Bytes that each unit writes in a day wherever it is, shape ``(n,)``; the copy that brings it comes on top."""
    return np.asarray((rates[Signal.ASYNC_WRITE] + rates[Signal.SYNC_WRITE]) * block_bytes * DAY, dtype=np.float64)


def rooms(tiers: Sequence[Tier], tier_of: I64, rates: F64, block_bytes: int) -> tuple[TierRoom, ...]:
    """What each tier can still bear with the units that are on it now, fastest first.

    Args:
        tiers: with their limits.
        tier_of: row of the tier of each unit, -1 where it is not managed.
        rates: shape ``(SIGNALS, n)``, per second.
        block_bytes: that one write moves.
    """
    return tuple(_room(tier.limits, rates[:, tier_of == row], block_bytes) for row, tier in enumerate(tiers))


def _room(limits: TierLimits, rates: F64, block_bytes: int) -> TierRoom:
    io, written = limits.io_per_second, limits.written_bytes_per_day
    usable = inf if io is None else io * (1.0 - limits.io_head_room_ratio)
    return TierRoom(
        io_per_second=usable - float(drive_io(rates, limits).sum()),
        written_per_day=(inf if written is None else written) - float(written_per_day(rates, block_bytes).sum()),
    )
