"""How few blocks take most of the reads, and whether they lie together."""

from __future__ import annotations

import numpy as np
import pytest

from connectors.model.observation import F64, I64
from policies.evidence.range_heat import HALVES, LEAST_SEEN, HeatShape, RangeHeat, concentrate
from policies.placement.advice import inside_sentences

RANGES, WIDTH = 100, 64


def heat(weight: F64, seen: int, seed: int = 0) -> RangeHeat:
    """What looks show of reads that go to ranges by these weights, if so many blocks were seen to come in."""
    random = np.random.default_rng(seed)
    share = weight / weight.sum()
    reads = np.array([random.multinomial(seen // HALVES, share) for _ in range(HALVES)], dtype=np.float64)
    no_hours: I64 = np.empty(0, dtype=np.int64)
    return RangeHeat(
        width=WIDTH, blocks=WIDTH * RANGES - 10, block_bytes=8192, reads=reads, seen=float(seen),
        estimated=float(seen), counted=float(seen), seconds=1.0, pairs=2, at_hour=0.0,
        hour=no_hours, pairs_of_hour=no_hours, by_hour=np.empty((0, RANGES)),
    )  # fmt: skip


def hot(first: int, end: int, times: float) -> F64:
    """Weights of ranges of which some are hotter."""
    weight = np.ones(RANGES)
    weight[first:end] = times
    return weight


@pytest.mark.parametrize("seed", range(5))
def test_the_newest_tenth_is_found_with_its_share(seed: int) -> None:
    """Seven tenths of the reads at the end of the file."""
    found = concentrate(heat(hot(90, 100, 21.0), 4_000, seed))
    assert found.shape is HeatShape.NEWEST
    assert found.part is not None
    assert found.part.first_block == pytest.approx(90 * WIDTH, abs=2 * WIDTH)
    assert found.part.share.low < 0.7 < found.part.share.high + 0.02
    assert found.hottest[1].of_reads == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize(("first", "times", "of_reads"), [(90, 6.0, 0.4), (95, 5.0, 0.208), (90, 3.0, 0.25)])
def test_a_part_is_judged_by_its_reads_per_byte(first: int, times: float, of_reads: float) -> None:
    """Newest rows that take less than half of the reads, but several times their share, are a part to split off."""
    for seed in range(5):
        found = concentrate(heat(hot(first, 100, times), 6_000, seed))
        assert found.shape is HeatShape.NEWEST
        assert found.part is not None
        assert found.part.share.of_reads == pytest.approx(of_reads, abs=0.05)


def test_newest_rows_next_to_hot_ranges_elsewhere() -> None:
    """A border splits off what is hot at the end, however hot other ranges are."""
    weight = hot(90, 100, 12.0)
    weight[4:90:9] = 20.0
    found = concentrate(heat(weight, 8_000))
    assert found.shape is HeatShape.NEWEST
    assert found.part is not None
    assert found.part.share.of_reads == pytest.approx(0.33, abs=0.06)


def test_hot_parts_that_lie_apart_are_not_all_over_it() -> None:
    """Three parts with much between them are not said to lie everywhere."""
    weight = hot(20, 24, 15.0)
    weight[45:49] = weight[70:74] = 15.0
    found = concentrate(heat(weight, 6_000))
    assert found.shape is HeatShape.APART
    (where, helps) = inside_sentences(heat(weight, 6_000), found, 100.0, "ssd")
    assert "all over it" not in where
    assert "3 places" in where
    assert "one border" in helps


def test_a_hot_part_in_the_middle_is_a_range() -> None:
    """With its place."""
    found = concentrate(heat(hot(40, 55, 30.0), 5_000))
    assert found.shape is HeatShape.RANGE
    assert found.part is not None
    assert found.part.first_block == pytest.approx(40 * WIDTH, abs=WIDTH)
    assert found.part.blocks == pytest.approx(15 * WIDTH, abs=2 * WIDTH)


def test_hot_ranges_all_over_are_scattered() -> None:
    """No part that lies together is offered, though a tenth takes most of the reads."""
    weight = np.ones(RANGES)
    weight[5::10] = 40.0
    found = concentrate(heat(weight, 5_000))
    assert found.shape is HeatShape.SCATTERED
    assert found.part is None
    assert found.hottest[1].of_reads == pytest.approx(0.816, abs=0.03)


@pytest.mark.parametrize("seen", [400, 4_000])
def test_chance_is_not_taken_for_heat(seen: int) -> None:
    """Reads that go to all ranges alike: the hottest quarter takes a quarter, however few were seen."""
    shapes = [concentrate(heat(np.ones(RANGES), seen, seed)) for seed in range(20)]
    assert {found.shape for found in shapes} == {HeatShape.EVEN}
    assert np.mean([found.hottest[-1].of_reads for found in shapes]) == pytest.approx(0.25, abs=0.02)


def test_of_too_few_blocks_nothing_is_said() -> None:
    """Below the least number there are no figures at all."""
    found = concentrate(heat(hot(90, 100, 21.0), int(LEAST_SEEN) - 1))
    assert (found.shape, found.hottest, found.part) == (HeatShape.UNKNOWN, (), None)


def test_intervals_hold_what_they_say() -> None:
    """90 % of them, of a share that is counted."""
    weight = hot(90, 100, 21.0)
    true = weight[90:].sum() / weight.sum()
    found = [concentrate(heat(weight, 1_000, seed)).hottest[1] for seed in range(200)]
    held = np.mean([each.low <= true <= each.high for each in found])
    assert 0.82 <= held <= 0.97
