"""Whether the hot part of a unit is a range of a column, where its border lies and how it wanders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from connectors.model.blocks import BlockValues, CandidateColumn, Value, evenly_first
from connectors.model.observation import F64
from policies.evidence.borders import (
    KEPT_LOOKS,
    BorderLook,
    best_border,
    borders_to_look_at,
    columns_to_read,
    find_border,
    history_document,
    history_from_document,
    wandering,
    with_look,
)
from policies.evidence.range_heat import RangeHeat
from tests.unit.policies.block_heat.test_concentration import RANGES, WIDTH, heat, hot

ROWS_A_BLOCK = 50
BLOCKS = WIDTH * RANGES - 10
ID = CandidateColumn(
    name="id", type_name="bigint", is_time=False, is_key=True, nullable=False, correlation=1.0, readable=True
)


def look(found: RangeHeat, column: F64) -> tuple[BlockValues, ...]:
    """Values of a column, one a row in the order of the file, in the blocks at the borders of ranges."""

    def blocks() -> Iterator[int]:
        for border in borders_to_look_at(found).tolist():
            yield from (block for block in (border - 1, border) if 0 <= block < found.blocks)

    def at(block: int) -> BlockValues:
        rows = column[block * ROWS_A_BLOCK : (block + 1) * ROWS_A_BLOCK]
        return BlockValues(block=block, least=value(rows.min()), greatest=value(rows.max()))

    return tuple(at(block) for block in sorted(set(blocks())))


def value(number: float) -> Value:
    """As a server gives a whole number."""
    return Value(number=float(number), text=str(int(number)))


IDS = np.arange(BLOCKS * ROWS_A_BLOCK, dtype=np.float64)


@pytest.mark.parametrize("seed", range(3))
def test_the_newest_rows_of_an_append_only_table_have_a_border(seed: int) -> None:
    """Its value, with the share of rows and reads beyond it, open to rows to come."""
    seen = heat(hot(90, 100, 21.0), 4_000, seed)
    found = find_border(seen, ID, look(seen, IDS))
    assert found is not None
    assert found.border.rolls
    assert found.least == pytest.approx(0.9 * len(IDS), rel=0.03)
    assert found.border.least == str(int(found.least or 0))
    assert found.border.of_rows == pytest.approx(0.1, abs=0.025)
    assert found.border.of_reads == pytest.approx(0.7, abs=0.05)
    assert found.border.fit > 0.9


def test_a_column_of_few_values_far_apart_has_its_border_at_one_of_them() -> None:
    """Ranges that hold one value alone are told apart without a complaint of the arithmetic."""
    column = np.floor(IDS / len(IDS) * 10) * 1000
    found = find_border(heat(hot(90, 100, 21.0), 4_000), ID, look(heat(hot(90, 100, 21.0), 4_000), column))
    assert found is not None
    assert found.least == 9000.0


def test_a_falling_column_puts_the_newest_blocks_below_a_border() -> None:
    """The part begins with the least value."""
    seen = heat(hot(90, 100, 21.0), 4_000)
    found = find_border(seen, ID, look(seen, IDS[::-1]))
    assert found is not None
    assert found.border.least is None
    assert found.below == pytest.approx(0.1 * len(IDS), rel=0.25)


def test_a_hot_part_in_the_middle_has_two_borders() -> None:
    """From one value to another."""
    seen = heat(hot(40, 55, 30.0), 5_000)
    found = find_border(seen, ID, look(seen, IDS))
    assert found is not None
    assert (found.least, found.below) == pytest.approx((0.4 * len(IDS), 0.55 * len(IDS)), rel=0.05)


def test_a_column_scattered_over_the_file_is_not_the_one() -> None:
    """Every range has all of its values, so no value tells hot rows from cold ones."""
    seen, scattered = heat(hot(90, 100, 21.0), 4_000), np.random.default_rng(2).permutation(IDS)
    assert find_border(seen, ID, look(seen, scattered)) is None


@pytest.mark.parametrize(("jitter", "found"), [(0.01, True), (0.8, False)])
def test_rows_that_came_late_blur_a_border_until_it_is_none(jitter: float, found: bool) -> None:
    """A part of the hot rows is no split: it has to take most of what as many of the hottest blocks do."""
    seen = heat(hot(90, 100, 90.0), 4_000)
    late = IDS - np.random.default_rng(3).uniform(0.0, jitter, len(IDS)) * len(IDS)
    assert (find_border(seen, ID, look(seen, np.rint(late))) is not None) is found


def test_heat_all_over_the_file_has_a_border_where_values_lie_that_way() -> None:
    """Two streams in turns: hot blocks lie all over the file, and are one range of values."""
    weight = np.ones(RANGES)
    weight[::5] = 40.0
    seen = heat(weight, 5_000)
    stream = np.repeat(np.arange(RANGES) % 5 == 0, WIDTH * ROWS_A_BLOCK)[: len(IDS)]
    found = find_border(seen, ID, look(seen, np.where(stream, IDS + 1e7, IDS)))
    assert found is not None
    assert (found.least or 0.0) >= len(IDS) - 1
    assert found.border.of_rows == pytest.approx(0.2, abs=0.03)


def test_even_heat_and_a_constant_column_have_no_border() -> None:
    """Neither shows a part."""
    even = heat(np.ones(RANGES), 4_000)
    assert find_border(even, ID, look(even, IDS)) is None
    seen = heat(hot(90, 100, 21.0), 4_000)
    assert find_border(seen, ID, look(seen, np.ones_like(IDS))) is None
    assert find_border(seen, ID, ()) is None


def test_a_look_that_ended_early_says_what_it_saw() -> None:
    """Its time limit came before half of the borders; a border among the others is still found."""
    seen = heat(hot(90, 100, 21.0), 4_000)
    found = find_border(seen, ID, look(seen, IDS)[80:])
    assert found is not None
    assert found.least == pytest.approx(0.9 * len(IDS), rel=0.03)


@pytest.mark.parametrize("reached", [33, 65, 100])
def test_borders_that_time_was_left_for_lie_evenly(reached: int) -> None:
    """A part of them still shows where the newest tenth begins, and ranges between two of them are taken as one."""
    seen = heat(hot(90, 100, 21.0), 4_000)
    borders = set(islice(evenly_first(borders_to_look_at(seen)), reached))
    values = tuple(each for each in look(seen, IDS) if {each.block, each.block + 1} & borders)
    found = find_border(seen, ID, values)
    assert found is not None
    assert found.border.rolls
    assert found.least == pytest.approx(0.9 * len(IDS), rel=0.03)
    assert found.border.of_reads == pytest.approx(0.7, abs=0.07)


def test_keys_and_times_in_the_order_of_the_file_are_read() -> None:
    """Scattered ones are not, and of those without statistics only keys and times."""
    unknown = float("nan")
    columns = (
        replace(ID, name="scattered", is_key=False, correlation=0.02),
        replace(ID, name="amount", is_key=False, correlation=unknown),
        replace(ID, name="made_at", is_key=False, is_time=True, correlation=unknown),
        replace(ID, name="number", is_key=False, correlation=-0.9),
        ID,
    )
    assert [each.name for each in columns_to_read(columns)] == ["id", "made_at", "number"]
    assert [each.name for each in columns_to_read(columns[:3])] == ["made_at"]


def test_of_columns_that_fit_alike_the_key_is_taken_and_else_the_better_one() -> None:
    """A unique key has to hold the column by which a table is split."""
    seen = heat(hot(90, 100, 21.0), 4_000)
    found = find_border(seen, ID, look(seen, IDS))
    assert found is not None
    other = replace(ID, name="a_date", is_key=False, is_time=True)
    worse = replace(found, border=replace(found.border, fit=0.75, column="id"))
    date = replace(found, border=replace(found.border, column="a_date"))
    assert best_border([(other, date), (ID, found)]) is found
    assert best_border([(other, date), (ID, worse)]) is date
    assert best_border([]) is None


def test_a_border_that_rolls_has_a_speed_and_a_distance() -> None:
    """By the median, so that one look that errs does not matter; the same from the ledger."""
    seen = heat(hot(90, 100, 21.0), 4_000)
    first = find_border(seen, ID, look(seen, IDS))
    assert first is not None
    assert first.least is not None
    looks: tuple[BorderLook, ...] = ()
    for number in range(KEPT_LOOKS + 5):
        astray = 5e6 if number == KEPT_LOOKS else 0.0
        found = replace(first, least=first.least + 100.0 * number + astray, newest=first.newest + 100.0 * number)
        looks = with_look(looks, BorderLook(at_hour=6.0 * number, found=found))
    assert len(looks) == KEPT_LOOKS
    assert history_from_document(history_document(looks)) == looks
    answer = wandering(looks)
    assert answer is not None
    assert answer[1].per_day == pytest.approx(400.0)
    assert answer[1].high_distance == pytest.approx(first.newest - first.least)
    assert answer[1].agreement == 1.0
    assert wandering(with_look(looks, BorderLook(at_hour=1e6, found=None))) is None
    assert np.isnan((wandering(looks[:1]) or answer)[1].per_day)
