"""Value per byte, and the order by it that does not depend on the order of the input."""

from __future__ import annotations

import numpy as np

from policies.model.columns import KeysOf, canonical_order, compute_density, densest_first


def test_an_empty_unit_counts_as_one_byte() -> None:
    """Density is value over size; a unit without bytes is dense but finite."""
    density = compute_density(np.array([6.0, 5.0, -4.0]), np.array([3, 0, 8]))
    assert density.tolist() == [2.0, 5.0, -0.5]


def test_the_densest_come_first_whatever_the_input_order() -> None:
    """Equal densities are ordered by size, then by key."""
    value, size = np.array([2.0, 9.0, 1.0, 2.0]), np.array([2, 3, 1, 2])
    keys = ["d", "c", "b", "a"]
    expected = ["c", "b", "a", "d"]
    for shuffle in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        order = densest_first(value[shuffle], size[shuffle], [keys[row] for row in shuffle])
        assert [keys[shuffle[row]] for row in order.tolist()] == expected


def test_ties_are_broken_by_size_then_name() -> None:
    """Equal scores are ordered by what does not depend on the order of the input."""
    score = np.array([1.0, 2.0, 1.0, 1.0])
    size = np.array([5.0, 9.0, 5.0, 4.0])
    assert canonical_order(score, size, ["b", "x", "a", "c"]).tolist() == [1, 3, 2, 0]


def test_keys_are_looked_up_by_position() -> None:
    """A selection of keys reads like a list of them, without a copy."""
    keys = KeysOf(["a", "b", "c"], np.array([2, 0], dtype=np.int64))
    assert len(keys) == 2
    assert list(keys) == ["c", "a"]
