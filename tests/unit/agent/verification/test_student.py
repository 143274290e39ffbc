"""Student's t, held against a library's."""

from __future__ import annotations

import pytest
from scipy.special import stdtr, stdtrit

from agent.moving.effect import reach_of, share_beyond
from tests.over import over


@over("freedom", [1.0, 1.5, 2.0, 3.0, 7.3, 30.0, 143.0, 1000.0, 1e6])
@over("share", [0.1, 0.5, 0.9, 0.95, 0.99])
def test_it_is_that_of_a_library(freedom: float, share: float) -> None:
    """For few degrees of freedom and for many, and for every share that an interval may hold."""
    assert reach_of(share, freedom) == pytest.approx(float(stdtrit(freedom, (1 + share) / 2)), rel=1e-4)


@over("freedom", [1.0, 3.0, 23.0, 143.0])
@over("reach", [0.0, 1.0, 3.0, 4.5, 8.0])
def test_what_lies_beyond_is_that_of_a_library(freedom: float, reach: float) -> None:
    """Small chances too: with many statements each is held against a small one."""
    assert share_beyond(reach, freedom) == pytest.approx(2 * float(stdtr(freedom, -reach)), rel=1e-3, abs=1e-7)
