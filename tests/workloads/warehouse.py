"""A reporting warehouse as skewed as the published SAP one: the best share f of the bytes saves f ** 0.22 of the time.

The exponent is fitted to one published pair: 4 of 16 SSDs brought 12 % throughput where all 16 brought 17 %, that is
0.737 of the time saved with a quarter of the capacity. So no test may hold that pair against what comes of it. What
scans save is within that curve; cached reads are added as what does not count. Sixteen drives of that time hold 1.1 TB,
and 96 disks serve 5,000 such reads a second.
"""

from __future__ import annotations

import numpy as np

from connectors.model.observation import F64, NO_PARENT, SIGNALS, Signal
from policies.evidence.prices import wait_per_hour
from policies.model.settings import PolicySettings
from tests.unit.policies.situations import HDD, SSD
from tests.workloads.catalogue import GIB, Catalogue

SKEW = 0.22


def share_of_saving(share_of_bytes: F64 | float, skew: float = SKEW) -> F64:
    """What the best bytes save of all that can be saved, on a catalogue that could be cut anywhere."""
    return np.asarray(np.asarray(share_of_bytes, dtype=np.float64) ** skew, dtype=np.float64)


def warehouse(
    seed: int,
    *,
    units: int = 400,
    total_bytes: int = 1_040 * GIB,
    sync_reads: float = 5_000.0,
    scanned: float = 3.0,
    skew: float = SKEW,
) -> Catalogue:
    """Objects laid side by side on the curve, log-normal sizes (sigma 1.2) in an order drawn from the seed.

    Args:
        seed: decides sizes and who is hot.
        units: how many objects.
        total_bytes: of all, about.
        sync_reads: random reads a second of all, what scans save counted as such.
        scanned: prefetched reads per random read, spread over units by chance, not by heat.
        skew: exponent of the curve.
    """
    draw = np.random.default_rng(seed)
    size = draw.lognormal(0.0, 1.2, units)
    until = np.cumsum(size / size.sum())
    saved = np.diff(share_of_saving(np.concatenate(([0.0], until)), skew))  # by each, of what all would save
    rates = np.zeros((SIGNALS, units))
    scans = draw.lognormal(0.0, 1.0, units) * size
    rates[Signal.PREFETCHED_READ] = scans / scans.sum() * sync_reads * scanned
    by_scans = _saved_by(rates)
    rates[Signal.SYNC_READ] = np.maximum(0.0, saved * sync_reads - by_scans / _saved_by(_one_read())[0])
    rates[Signal.LOGICAL_READ] = rates[Signal.PREFETCHED_READ] + rates[Signal.SYNC_READ] * draw.uniform(
        2.0, 20.0, units
    )
    order = draw.permutation(units)
    return Catalogue(
        key=[f"bw.o{number:05d}" for number in range(units)],
        kind=np.zeros(units, dtype=np.int8),
        size_bytes=(size[order] / size.sum() * total_bytes).astype(np.int64) + 8192,
        parent=np.full(units, NO_PARENT, dtype=np.int64),
        rates=rates[:, order],
    )


def _one_read() -> F64:
    """One waited-for random read a second."""
    rates = np.zeros((SIGNALS, 1))
    rates[Signal.SYNC_READ] = 1.0
    return rates


def _saved_by(rates: F64) -> F64:
    """What each unit saves on SSD, in seconds per hour."""
    on_ssd, on_disk = wait_per_hour(rates, [SSD, HDD], PolicySettings())
    return np.asarray(on_disk - on_ssd, dtype=np.float64)
