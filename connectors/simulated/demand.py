"""From this engine's counters to signals. The simulator measures what it counts, so nothing is estimated."""

from __future__ import annotations

import numpy as np

from connectors.model import SIGNALS, Demand, Interval, Signal

SIGNAL_OF = {
    "logical_reads": Signal.LOGICAL_READ,
    "sync_reads": Signal.SYNC_READ,
    "prefetched_reads": Signal.PREFETCHED_READ,
    "async_writes": Signal.ASYNC_WRITE,
}


def classify(interval: Interval) -> Demand:
    """Rates per second and signal."""
    rates = np.zeros((SIGNALS, len(interval.physical_id)), dtype=np.float64)
    for name, signal in SIGNAL_OF.items():
        rates[signal] = interval.deltas[name] / interval.seconds

    return Demand(
        ended_at=interval.ended_at,
        seconds=interval.seconds,
        physical_id=interval.physical_id,
        rates=rates,
        observed=~interval.restarted,
        estimated=frozenset(),
        database=interval.database_rates(),
        roles=interval.role_rates(),
    )
