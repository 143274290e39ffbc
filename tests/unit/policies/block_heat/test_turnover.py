"""What two looks say about reads by range."""

from __future__ import annotations

import numpy as np
import pytest

from policies.evidence.range_heat import MOST_RANGES, blocks_per_range, compare_looks
from tests.unit.policies.block_heat.pool import Pool

BLOCKS, BUFFERS, BLOCK = 12_800, 1_000, 8192


@pytest.mark.parametrize(
    ("blocks", "width"), [(0, 1), (1, 1), (128, 1), (129, 2), (256, 2), (257, 4), (2**31, 2**24), (2**31 + 1, 2**25)]
)
def test_a_range_holds_the_least_power_of_two_of_blocks_that_does(blocks: int, width: int) -> None:
    """At most 128 ranges, at least 65 once there are so many blocks."""
    assert blocks_per_range(blocks) == width
    assert -(-blocks // width) <= MOST_RANGES


@pytest.mark.parametrize("accesses", [100, 500, 1_500])
def test_the_share_of_the_hot_part_is_found_however_far_apart_the_looks_are(accesses: int) -> None:
    """Within three points, where blocks that merely came in between the looks miss it by up to ten."""
    pool, weight = Pool(BLOCKS, BUFFERS, seed=1), np.ones(BLOCKS)
    weight[-BLOCKS // 10 :] = 40.0
    pool.load(8_000, weight)
    pool.reads[:] = 0
    estimated, came = np.zeros(2), np.zeros(2)
    for _ in range(9_000 // accesses):
        before = pool.look()
        pool.load(accesses, weight)
        found = compare_looks(before, pool.look(), blocks=BLOCKS, block_bytes=BLOCK, seconds=1.0)
        cold = BLOCKS * 9 // 10 // found.width
        estimated += (found.reads()[:cold].sum(), found.reads()[cold:].sum())
        came += (found.came[:cold].sum(), found.came[cold:].sum())
    true = pool.reads[-BLOCKS // 10 :].sum() / pool.reads.sum()
    assert estimated[1] / estimated.sum() == pytest.approx(true, abs=0.03)
    if accesses == 1_500:
        assert came[1] / came.sum() < true - 0.05  # so the correction is what does it


def test_of_near_looks_the_number_of_reads_is_right_too() -> None:
    """Within a twentieth of what storage was asked for."""
    pool, weight = Pool(BLOCKS, BUFFERS, seed=2), np.ones(BLOCKS)
    pool.load(6_000, weight)
    before, pool.reads[:] = pool.look(), 0
    pool.load(400, weight)
    found = compare_looks(before, pool.look(), blocks=BLOCKS, block_bytes=BLOCK, seconds=1.0)
    assert found.reads().sum() == pytest.approx(pool.reads.sum(), rel=0.05)


def test_looks_that_list_one_block_in_four_are_scaled_up() -> None:
    """What comes of a list by number is four times what it holds."""
    before, after = np.arange(0, 512, 8), np.arange(0, 512, 4)
    found = compare_looks(before, after, blocks=512, block_bytes=BLOCK, seconds=1.0, one_in=4)
    assert found.came.sum() == 4 * 64
    assert found.before.sum() == 4 * 64


def test_blocks_behind_the_end_of_a_table_that_was_cut_do_not_count() -> None:
    """TRUNCATE and VACUUM cut files while looks are taken."""
    found = compare_looks(np.arange(300), np.arange(100), blocks=100, block_bytes=BLOCK, seconds=1.0)
    assert found.before.sum() == found.after.sum() == 100
    assert found.reads().sum() == 0


def test_a_table_read_from_end_to_end_between_the_looks_gives_finite_figures() -> None:
    """Nothing was resident before and all is after."""
    found = compare_looks(np.arange(0), np.arange(64), blocks=64, block_bytes=BLOCK, seconds=1.0)
    assert np.isfinite(found.reads()).all()
    assert (found.reads() >= found.came).all()


def test_blocks_whose_numbers_change_are_told_apart_by_what_they_are() -> None:
    """The same three blocks under other numbers have not come in; a fourth has, with the time of its read."""
    found = compare_looks(
        np.array([1, 2, 3]), np.array([4, 5, 6, 7]), blocks=64, block_bytes=BLOCK, seconds=1.0,
        identities=(np.array([10, 20, 30]), np.array([10, 20, 30, 40])), read_seconds=np.array([1.0, 1.0, 1.0, 0.25]),
    )  # fmt: skip
    assert np.flatnonzero(found.came).tolist() == [7]
    assert found.waits()[7] >= 0.25
    assert found.waits().sum() == found.waits()[7]


def test_blocks_that_inserts_append_are_no_reads() -> None:
    """Reads even over the table while its end grows: the newest ranges are as warm as the others."""
    pool, reads = Pool(BLOCKS, BUFFERS, seed=3), np.zeros(0)
    pool.load(6_000, np.ones(BLOCKS))
    for _ in range(20):
        before = pool.look()
        pool.load(300, np.ones(BLOCKS))
        appended = np.arange(BLOCKS, BLOCKS + 200)
        found = compare_looks(
            before, np.concatenate((pool.look(), appended)), blocks=BLOCKS + 200, blocks_before=BLOCKS,
            block_bytes=BLOCK, seconds=1.0,
        )  # fmt: skip
        reads = found.reads() if not len(reads) else reads + found.reads()
    newest = slice(BLOCKS * 9 // 10 // found.width, None)
    share, of_blocks = reads[newest].sum() / reads.sum(), found.blocks[newest].sum() / found.blocks.sum()
    assert share <= of_blocks
    assert share == pytest.approx(BLOCKS // 10 / BLOCKS, abs=0.03)


def test_pages_that_took_no_time_to_read_were_not_read() -> None:
    """Where the engine times each page's read: one that was made in the pool has none."""
    found = compare_looks(
        np.array([1]), np.array([1, 2, 3]), blocks=64, block_bytes=BLOCK, seconds=1.0,
        read_seconds=np.array([0.001, 0.0, 0.002]),
    )  # fmt: skip
    assert np.flatnonzero(found.came).tolist() == [3]
    assert found.read_seconds is not None
    assert found.read_seconds.sum() == pytest.approx(0.002)
