"""What a tier bears beside bytes."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from connectors.model import SIGNALS, Signal
from policies.limits import DAY, RUN_BLOCKS, drive_io, rooms, written_per_day
from policies.plan import Tier, TierLimits
from policies.purchase import physical_io
from tests.unit.policies.situations import HDD, SSD


def rates(sync: float = 0.0, prefetched: float = 0.0, asynchronous: float = 0.0, log: float = 0.0) -> np.ndarray:
    """Rates of one unit."""
    column = np.zeros((SIGNALS, 1))
    column[[Signal.SYNC_READ, Signal.PREFETCHED_READ, Signal.ASYNC_WRITE, Signal.SYNC_WRITE], 0] = (
        sync, prefetched, asynchronous, log,
    )  # fmt: skip
    return column


@pytest.mark.parametrize(("raid", "drives"), [(None, 11_700), (1, 14_040), (5, 18_720), (6, 23_400)])
def test_writes_count_by_the_raid_factor(raid: int | None, drives: float) -> None:
    """11,700 host I/Os, four in five of them reads: the published figures of the same formula."""
    load = rates(sync=11_700 * 0.8, asynchronous=11_700 * 0.2)
    assert drive_io(load, TierLimits(raid=raid)) == pytest.approx([drives])
    if raid is not None:
        assert drive_io(load, TierLimits(raid=raid))[0] == pytest.approx(physical_io(11_700, 0.8, raid))


def test_a_scan_costs_an_io_per_run() -> None:
    """1,600 blocks read ahead are a hundred I/Os."""
    assert drive_io(rates(prefetched=100 * RUN_BLOCKS), TierLimits()).tolist() == [100.0]


def test_what_is_there_takes_its_part_of_the_room() -> None:
    """1,000 I/Os with a fifth kept free, 300 used: 500 are left. No limit is endless room."""
    tiers = (
        Tier(name="ssd", speed=SSD, spaces=("a",),
             limits=TierLimits(io_per_second=1000.0, io_head_room_ratio=0.2, written_bytes_per_day=2e9)),
        Tier(name="hdd", speed=HDD, spaces=("b",)),
    )  # fmt: skip
    load = np.hstack([rates(sync=300.0, asynchronous=1.0), rates(sync=9.0), rates(sync=9.0)])
    fast, slow = rooms(tiers, np.array([0, 1, -1], dtype=np.int64), load, 8192)
    assert fast.io_per_second == pytest.approx(499.0)
    assert fast.written_per_day == pytest.approx(2e9 - 8192 * DAY)
    assert (slow.io_per_second, slow.written_per_day) == (inf, inf)


def test_written_bytes_are_blocks_by_their_size() -> None:
    """One block a second of either kind of write is 8192 x 86,400 bytes a day."""
    assert written_per_day(rates(asynchronous=0.5, log=0.5), 8192).tolist() == [8192 * 86_400.0]
