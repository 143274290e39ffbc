"""What a tier bears beside bytes."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.model.observation import SIGNALS, Signal
from policies.evidence.capacity import RUN_BLOCKS, drive_io, written_per_day
from policies.model.settings import TierLimits, physical_io


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
        assert drive_io(load, TierLimits(raid=raid))[0] == pytest.approx(physical_io(11_700 * 0.8, 11_700 * 0.2, raid))


def test_a_scan_costs_an_io_per_run() -> None:
    """1,600 blocks read ahead are a hundred I/Os."""
    assert drive_io(rates(prefetched=100 * RUN_BLOCKS), TierLimits()).tolist() == [100.0]


def test_written_bytes_are_blocks_by_their_size() -> None:
    """One block a second of either kind of write is 8192 x 86,400 bytes a day."""
    assert written_per_day(rates(asynchronous=0.5, log=0.5), 8192).tolist() == [8192 * 86_400.0]
