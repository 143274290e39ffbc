"""One room and who deserves it: greedy's weak sides mended."""

from __future__ import annotations

import numpy as np

from policies.placement.sizing import Knapsack, select


def chosen(items: list[tuple[float, float]], capacity: float) -> list[int]:
    """Positions of the (size, value) items that were selected."""
    size, value = np.array(items, dtype=np.float64).reshape(-1, 2).T
    return [int(at) for at in np.flatnonzero(select(Knapsack(size=size, value=value, capacity=capacity)))]


def test_one_large_item_beats_a_dense_small_one() -> None:
    """Greedy by density takes the crumb and has no room for the loaf; the optimum takes the loaf."""
    assert chosen([(1, 10), (100, 500)], 100) == [1]


def test_the_core_mends_what_greedy_misses_among_many() -> None:
    """After forty dense items, 10 bytes are left: density picks 6 for 60 and wastes 4, two of 5 are worth 90."""
    items = [(10.0, 1000.0)] * 40 + [(6.0, 60.0), (5.0, 45.0), (5.0, 45.0)] + [(50.0, 1.0)] * 20
    assert chosen(items, 410) == [*range(40), 41, 42]


def test_nothing_fits_nothing() -> None:
    """No capacity, no selection; no items, no selection."""
    assert chosen([(1, 10)] * 30, 0) == []
    assert chosen([], 10) == []


def test_a_hundred_thousand_items_come_within_a_hundredth_of_a_percent() -> None:
    """With many items greedy and core leave next to nothing to the fractional optimum."""
    random = np.random.default_rng(1)
    size = np.rint(np.exp(random.normal(10, 1.8, 100_000))) + 1
    value = np.rint(1e9 / random.permutation(np.arange(1, 100_001)) ** 1.1) + 1
    capacity = float(size.sum() * 0.1)
    picked = select(Knapsack(size=size, value=value, capacity=capacity))
    densest = np.argsort(-value / size)
    fractional = value[densest][: np.searchsorted(np.cumsum(size[densest]), capacity) + 1].sum()
    assert size[picked].sum() <= capacity
    assert 0.9999 * fractional <= value[picked].sum() <= fractional
