"""Rows put together by their keys."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from connectors.kit.counters import GroupBy, busy

ROWS = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-(2**40), 2**40)))


@given(ROWS)
def test_rows_of_equal_keys_are_one(rows: list[tuple[int, int, int]]) -> None:
    """Groups ascend by their keys, the first of them leads; each holds the sum, or the greatest, of its rows."""
    expected: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for one, other, value in rows:
        expected[one, other].append(value)
    first, second, values = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    groups = GroupBy(first, second)
    found = list(zip(*(key.tolist() for key in groups.keys), strict=True))
    assert found == sorted(expected)
    assert groups.aggregate(values).tolist() == [sum(expected[key]) for key in found]
    assert groups.aggregate(values, np.maximum).tolist() == [max(expected[key]) for key in found]
    assert groups.ranks().tolist() == [rank for key in found for rank in range(1, len(expected[key]) + 1)]


def test_a_unit_without_counters_is_absent() -> None:
    """A sample leaves out what has nothing above zero; the counters of the others stay with their unit."""
    ids, counters = busy(np.array([4, 5, 6]), np.array([[0, 0, 7], [1, 0, 0]]))
    assert ids.tolist() == [4, 6]
    assert counters.tolist() == [[0, 7], [1, 0]]
