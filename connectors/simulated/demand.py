"""From this engine's counters to signals. The simulator measures what it counts, so nothing is estimated."""

from __future__ import annotations

import numpy as np

from connectors.model import SIGNALS, DatabaseDemand, Demand, Interval, Signal

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

    def per_second(name: str) -> float:
        return interval.database.get(name, float("nan")) / interval.seconds

    return Demand(
        ended_at=interval.ended_at,
        seconds=interval.seconds,
        physical_id=interval.physical_id,
        rates=rates,
        observed=~interval.restarted,
        estimated=frozenset(),
        database=DatabaseDemand(
            reads=per_second("reads"),
            read_wait=per_second("read_seconds"),
            write_wait=per_second("write_seconds"),
            transactions=per_second("transactions"),
            active=per_second("active_seconds"),
        ),
        roles=interval.role_rates(),
    )
