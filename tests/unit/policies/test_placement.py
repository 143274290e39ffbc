"""The solver alone: greedy's weak sides mended, the limit of moves, the bound."""

from __future__ import annotations

import numpy as np
import pytest

from policies.bundles import canonical_order
from policies.placement import Knapsack, bound, select


def sack(
    items: list[tuple[float, float]], capacity: float, *, inside: tuple[int, ...] = (), moves: int = 1000
) -> Knapsack:
    """A knapsack of (size, value) items, put into canonical order by the caller's list."""
    return Knapsack(
        size=np.array([size for size, _ in items], dtype=np.float64),
        value=np.array([value for _, value in items], dtype=np.float64),
        inside=np.array([at in inside for at in range(len(items))], dtype=np.bool_),
        capacity=capacity,
        moves=moves,
    )


def chosen(of: Knapsack) -> list[int]:
    """Positions that were selected."""
    return [int(at) for at in np.flatnonzero(select(of))]


def test_one_large_item_beats_a_dense_small_one() -> None:
    """Greedy by density takes the crumb and has no room for the loaf; the optimum takes the loaf."""
    assert chosen(sack([(1, 10), (100, 500)], 100)) == [1]


def test_a_resident_stays_against_an_equal() -> None:
    """Items inside are not exchanged for others of the same value."""
    assert chosen(sack([(10, 50), (10, 50)], 10, inside=(0,))) == [0]
    assert chosen(sack([(10, 51), (10, 50)], 10, inside=(1,))) == [0]


def test_the_core_mends_what_greedy_misses_among_many() -> None:
    """After forty dense items, 10 bytes are left: density picks 6 for 60 and wastes 4, two of 5 are worth 90."""
    items = [(10.0, 1000.0)] * 40 + [(6.0, 60.0), (5.0, 45.0), (5.0, 45.0)] + [(50.0, 1.0)] * 20
    picked = chosen(sack(items, 410))
    assert picked == [*range(40), 41, 42]


def test_nothing_fits_nothing() -> None:
    """No capacity, no selection; no items, no selection."""
    assert chosen(sack([(1, 10)] * 30, 0)) == []
    assert chosen(sack([], 10)) == []
    assert bound(sack([], 10)) == 0
    assert bound(sack([(1, 10)] * 30, 0)) == 0


def test_with_few_moves_large_gains_come_first() -> None:
    """A hundred crumbs are denser than three loaves, but with three moves the loaves bring more."""
    items = [(1.0, 10.0)] * 100 + [(100.0, 300.0)] * 3
    few = sack(items, 1000, moves=3)
    assert chosen(few) == [100, 101, 102]
    assert bound(few) == pytest.approx(900, rel=0.05)
    assert len(chosen(sack(items, 1000))) == 103


def test_the_bound_is_the_fractional_optimum() -> None:
    """Two whole items and a third of the next: 30 + 20 + 10 / 3, less what is inside now."""
    of = sack([(10, 30), (10, 20), (30, 10)], 30)
    assert bound(of) == pytest.approx(30 + 20 + 10 / 3)
    assert bound(sack([(10, 30), (10, 20), (30, 10)], 30, inside=(1,))) == pytest.approx(30 + 10 / 3)


def test_a_hundred_thousand_items_come_within_a_hundredth_of_a_percent() -> None:
    """With many items greedy and core leave next to nothing to the bound."""
    random = np.random.default_rng(1)
    size = np.rint(np.exp(random.normal(10, 1.8, 100_000))) + 1
    value = np.rint(1e9 / random.permutation(np.arange(1, 100_001)) ** 1.1) + 1
    of = Knapsack(
        size=size,
        value=value,
        inside=random.random(100_000) < 0.05,
        capacity=float(size.sum() * 0.1),
        moves=100_000,
    )
    picked = select(of)
    gained = value[picked].sum() - value[of.inside].sum()
    assert size[picked].sum() <= of.capacity
    assert 0.9999 * bound(of) <= gained <= bound(of)


def test_ties_are_broken_by_size_then_name() -> None:
    """Equal scores are ordered by what does not depend on the order of the input."""
    score = np.array([1.0, 2.0, 1.0, 1.0])
    size = np.array([5.0, 9.0, 5.0, 4.0])
    assert canonical_order(score, size, ["b", "x", "a", "c"]).tolist() == [1, 3, 2, 0]
