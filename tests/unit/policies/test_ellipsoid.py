"""What a cut leaves of an ellipsoid lies in the next one, which is smaller."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.placement.solver.dual import enclosing_cut


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.floats(0.0, 0.99))
def test_what_is_left_of_a_ball_is_held(seed: int, n: int, depth: float) -> None:
    """Every point beyond the cut, of a ball around 0 that is cut across its first axis, is in the next ellipsoid."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(400, n))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    left = points[points[:, 0] <= -depth]
    shift, kept, growth = enclosing_cut(n, depth)
    lengths = np.full(n, growth)
    lengths[0] *= kept
    left[:, 0] += shift
    assert np.all(np.linalg.norm(left / np.maximum(lengths, 1e-300), axis=1) <= 1 + 1e-9)


@given(st.integers(1, 9), st.floats(0.0, 0.99))
def test_every_cut_takes_some(n: int, depth: float) -> None:
    """The volume falls, by the more the deeper the cut; for several cuts at once as for each."""
    shift, kept, growth = enclosing_cut(n, depth)
    assert kept * growth**n < 1
    several = enclosing_cut(n, np.array([depth, 0.0]))
    assert [each[0] for each in several] == pytest.approx([shift, kept, growth])
