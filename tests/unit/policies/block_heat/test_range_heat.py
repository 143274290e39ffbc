"""What is remembered of looks."""

from __future__ import annotations

import numpy as np
import pytest

from policies.evidence.range_heat import (
    HALF_LIFE_HOURS,
    KEPT_HOURS,
    RangeHeat,
    Turnover,
    compare_looks,
    heat_arrays,
    heat_from_arrays,
)
from policies.evidence.range_heat import with_turnover as more

BLOCK = 8192


def turnover(blocks: int, came: range) -> Turnover:
    """Those blocks came into an empty pool within two seconds."""
    return compare_looks(np.arange(0), np.array(came, dtype=np.int64), blocks=blocks, block_bytes=BLOCK, seconds=2.0)


def test_reads_of_old_looks_fade() -> None:
    """After a half-life the newest pair counts twice as much as the first."""
    first = more(None, turnover(1280, range(10)), 10.0, 100.0)
    second = more(first, turnover(1280, range(640, 650)), 10.0, 100.0 + HALF_LIFE_HOURS)
    reads = second.reads.sum(axis=0)
    assert reads[40] == pytest.approx(2 * reads[0], rel=1e-9)
    assert second.counted == pytest.approx(15.0)
    assert second.seen == pytest.approx(15.0)


def test_a_table_that_grows_keeps_what_was_seen_of_its_ranges() -> None:
    """Ranges are merged by pairs when there would be too many: what was read of the first blocks stays theirs."""
    heat = more(None, turnover(1280, range(20)), 20.0, 0.0)
    assert (heat.width, heat.ranges) == (16, 80)
    grown = more(heat, turnover(40_000, range(39_000, 39_001)), 1.0, 0.0)
    assert grown.width == 512
    assert grown.reads[0, 0] == pytest.approx(heat.reads.sum())
    assert grown.by_hour.shape == (1, grown.ranges)
    assert grown.range_blocks.sum() == 40_000


def test_a_table_that_was_emptied_begins_again() -> None:
    """Wide ranges cannot be taken apart."""
    large = more(None, turnover(40_000, range(500)), 500.0, 0.0)
    small = more(large, turnover(100, range(10)), 10.0, 1.0)
    assert (small.pairs, small.width, small.counted) == (1, 1, 10.0)


def test_a_table_cut_within_its_ranges_forgets_what_is_gone() -> None:
    """No range lies behind the end."""
    heat = more(more(None, turnover(1280, range(1200, 1280)), 80.0, 0.0), turnover(1100, range(4)), 4.0, 0.0)
    assert heat.ranges == 69
    assert heat.reads.sum() == pytest.approx(4.0, rel=0.6)


def test_the_time_of_reads_fades_is_merged_and_is_stored() -> None:
    """Where the engine tells it: what took longer has the larger share; where it does not, nothing is said."""
    assert np.isnan(more(None, turnover(1280, range(10)), 10.0, 0.0).wait_share(0, 640))
    slow = np.where(np.arange(20) < 10, 0.001, 0.003)
    both = np.concatenate((np.arange(10), np.arange(640, 650)))
    timed = compare_looks(np.arange(0), both, blocks=1280, block_bytes=BLOCK, seconds=2.0, read_seconds=slow)
    heat = more(None, timed, 20.0, 0.0)
    assert heat.wait_share(640, 640) == pytest.approx(0.75)
    assert heat.waited is not None
    assert heat.waited.sum() == pytest.approx(20 * 0.002, rel=0.6)
    later = more(heat, timed, 20.0, HALF_LIFE_HOURS)
    assert later.waited is not None
    assert later.waited.sum() == pytest.approx(1.5 * heat.waited.sum())
    grown = more(heat, turnover(40_000, range(1)), 1.0, 0.0)
    assert grown.wait_share(0, 1280) == pytest.approx(1.0)
    assert heat_from_arrays(heat_arrays(heat)).wait_share(640, 640) == pytest.approx(0.75)


def test_an_hour_shows_the_mean_of_its_pairs_and_a_week_is_kept() -> None:
    """Rates a second, hour by hour; older hours leave."""
    heat: RangeHeat | None = None
    for hour in range(KEPT_HOURS + 5):
        heat = more(heat, turnover(128, range(1)), 1.0, hour + 0.1)
    assert heat is not None
    heat = more(heat, turnover(128, range(5, 5)), 0.0, KEPT_HOURS + 4.9)
    assert heat.hour.tolist() == list(range(5, KEPT_HOURS + 5))
    assert heat.by_hour[-1, 0] == pytest.approx(heat.by_hour[-2, 0] / 2)


def test_the_ledger_gives_back_what_it_was_given() -> None:
    """Columns and facts, the picture in single precision."""
    heat = more(None, turnover(1280, range(3, 90)), 100.0, 480_000.25)
    back = heat_from_arrays(heat_arrays(heat))
    np.testing.assert_array_equal(back.reads, heat.reads)
    np.testing.assert_allclose(back.by_hour, heat.by_hour, rtol=1e-6)
    assert heat_arrays(back)["facts"].tolist() == heat_arrays(heat)["facts"].tolist()
    assert back.coverage == heat.coverage


def test_coverage_is_unknown_where_the_engine_counts_nothing() -> None:
    """And never more than all."""
    assert np.isnan(more(None, turnover(128, range(9)), 0.0, 0.0).coverage)
    assert more(None, turnover(128, range(9)), 3.0, 0.0).coverage == 1.0
