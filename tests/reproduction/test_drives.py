"""The simulated drives are themselves true: against the exact solution of the network where there is one."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.model.observation import I64, NO_PARENT, SIGNALS, Signal
from connectors.simulated.scenarios import mean_value
from tests.workloads.catalogue import GIB, Catalogue
from tests.workloads.drives import Bank, Ran, Sessions, run

DISKS = Bank(drives=4, read_seconds=0.0055, block_seconds=0.0002)
SSD = Bank(drives=1, read_seconds=0.0002, block_seconds=0.00002)
ON_DISKS: I64 = np.ones(4, dtype=np.int64)


def four_units(prefetched: float = 0.0) -> Catalogue:
    """Equals, each with ten random reads a second and some read ahead."""
    rates = np.zeros((SIGNALS, 4))
    rates[Signal.SYNC_READ], rates[Signal.PREFETCHED_READ] = 10.0, prefetched
    return Catalogue(
        key=list("abcd"),
        kind=np.zeros(4, dtype=np.int8),
        size_bytes=np.full(4, GIB),
        parent=np.full(4, NO_PARENT, dtype=np.int64),
        rates=rates,
    )


def at_work(
    tier: I64,
    *,
    count: int = 8,
    prefetched: float = 0.0,
    waits_for_batch: float = 0.0,
    reads: int = 200_000,
    seed: int = 1,
) -> Ran:
    """Sessions that compute for 10 ms between two reads."""
    sessions = Sessions(count=count, compute_seconds=0.010, waits_for_batch=waits_for_batch)
    return run(four_units(prefetched), tier, (SSD, DISKS), sessions, reads=reads, seed=seed)


@pytest.mark.parametrize("on_ssd", [0, 1, 3, 4])
@pytest.mark.parametrize("count", [1, 8, 40])
def test_waits_and_throughput_are_those_of_mean_value_analysis(count: int, on_ssd: int) -> None:
    """Random reads only: both within 2 % of the exact solution of the closed network, from one session to a crowd."""
    part = on_ssd / 4
    demand = np.array([SSD.read_seconds * part, *[DISKS.read_seconds * (1 - part) / DISKS.drives] * DISKS.drives])
    throughput, residence = mean_value(demand, np.ones(5), count, 0.010)
    found = at_work(np.where(np.arange(4) < on_ssd, 0, 1), count=count)
    assert found.reads_per_second == pytest.approx(throughput, rel=0.02)
    assert found.wait_seconds == pytest.approx(residence.sum(), rel=0.02)


def test_what_is_read_ahead_keeps_drives_busy_and_some_wait_for_it() -> None:
    """Reads wait longer beside batches that nobody waits for, and sessions longer still where they wait for them."""
    alone = at_work(ON_DISKS).wait_seconds
    beside, awaited = (at_work(ON_DISKS, prefetched=60.0, waits_for_batch=share).wait_seconds for share in (0.0, 1.0))
    assert 1.05 * alone < beside < 0.97 * awaited


def test_the_same_seed_is_the_same_run() -> None:
    """Everything drawn comes from the seed, and another seed draws something else."""
    first, again, other = (at_work(ON_DISKS, prefetched=60.0, reads=5_000, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
