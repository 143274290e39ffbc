"""Limits of a tier other than bytes: I/Os per second of its drives and bytes written per day, by unit.

Drive I/Os follow the RAID formula of ``purchase``: reads that no cache answers, and host writes times the factor. What
is read or written in runs costs one I/O per ``RUN_BLOCKS`` blocks. Everything is per unit and adds up, so a solver can
take each limit as one more resource next to capacity. How much of a budget of weekly turnover is used is here as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

import numpy as np

from connectors.model import F64, Signal
from policies.model.plan import TierLimits
from policies.storage.purchase import WRITE_FACTORS

DAY = 86400.0
WEEK = 7 * DAY
RUN_BLOCKS = 16.0  # blocks that one sequential I/O moves: 128 KiB of 8 KiB, the usual read-ahead


def drive_io(rates: F64, limits: TierLimits) -> F64:
    """Drive I/Os per second that each unit causes on a tier, shape ``(n,)``, of rates ``(SIGNALS, n)``."""
    in_runs = rates[Signal.PREFETCHED_READ] + rates[Signal.DIRECT_READ]
    written = rates[Signal.ASYNC_WRITE] + rates[Signal.SYNC_WRITE]
    factor = 1 if limits.raid is None else WRITE_FACTORS[limits.raid]
    return np.asarray(rates[Signal.SYNC_READ] + in_runs / RUN_BLOCKS + written * factor, dtype=np.float64)


def written_per_day(rates: F64, block_bytes: int) -> F64:
    """Bytes that each unit writes in a day wherever it is, shape ``(n,)``; the copy that brings it comes on top."""
    return np.asarray((rates[Signal.ASYNC_WRITE] + rates[Signal.SYNC_WRITE]) * block_bytes * DAY, dtype=np.float64)


def turned_over(gave_way: Iterable[tuple[float, float]], per_week: float) -> float:
    """How full a leaky bucket is: every swap fills it, and a week empties it by a week's budget.

    Whoever swaps only while less than a week's budget is in it keeps to the budget in the long run, and what exceeded
    it is made up for.

    Args:
        gave_way: age in seconds and share of the tier of each demotion, in any order.
        per_week: share that may give way in a week.
    """
    level, before = 0.0, inf
    # The last entry adds nothing and only drains the bucket from the latest demotion until now.
    for age, share in [*sorted(gave_way, reverse=True), (0.0, 0.0)]:
        level = max(0.0, level - per_week * (before - age) / WEEK) + share
        before = age
    return level
