"""What earlier forecasts teach: the next interval holds what the last one missed, and nothing is made narrower."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.model.confidence import LARGEST, MODEL_ERROR, Foretold, Reach, reach_of

RATES = st.floats(1e-3, 1e6)
MISS = Foretold(before=100.0, said=400.0, came=150.0)


@given(RATES, RATES, st.floats(1e-2, 1e2))
def test_the_same_forecast_made_again_holds_what_came(before: float, said: float, off: float) -> None:
    """Whichever end it was beyond; the other end learns nothing."""
    past = Foretold(before=before, said=said, came=said * off)
    found = reach_of([past], said / before)
    assert said * math.exp(-found.down) <= past.came * (1 + 1e-9)
    assert said * math.exp(found.up) >= past.came * (1 - 1e-9)
    assert min(found.down, found.up) == 0.0
    assert (found.too_high is past, found.too_low is past) == (found.down > 0, found.up > 0)


@given(st.lists(st.tuples(RATES, RATES, RATES), max_size=6), st.tuples(RATES, RATES, RATES), st.floats(0.01, 100))
def test_one_more_outcome_never_makes_surer(
    earlier: list[tuple[float, float, float]], another: tuple[float, float, float], change: float
) -> None:
    """Reaches grow with outcomes and with the change, and are never below nothing."""
    past = [Foretold(before=before, said=said, came=came) for before, said, came in (*earlier, another)]
    less, more = reach_of(past[:-1], change), reach_of(past, change)
    assert 0 <= less.down <= more.down <= LARGEST
    assert 0 <= less.up <= more.up <= LARGEST
    unchanged = reach_of(past, 1.0)
    assert unchanged.down <= more.down
    assert unchanged.up <= more.up


def test_a_smaller_change_is_off_by_less() -> None:
    """A fourfold rate came to 1.5 times: a twofold one may not come at all, and no change loses little."""
    whole, half, none = (reach_of([MISS], change).down for change in (4.0, 2.0, 1.0))
    assert whole == pytest.approx(math.log(400 / 150))
    assert half == pytest.approx(math.log(2), rel=0.01)
    assert none == pytest.approx(MODEL_ERROR)
    assert reach_of([MISS], 40.0).down == whole  # more than was seen is not made up
    threefold = Foretold(before=100.0, said=120.0, came=120.0 * 1.2**3)  # an error of three times the change
    assert reach_of([threefold], 1.1).up == pytest.approx(3 * math.log(1.1), rel=0.2)


def test_the_worst_of_several_counts() -> None:
    """One of them came as forecast: that takes back nothing of the other."""
    right = Foretold(before=100.0, said=400.0, came=400.0)
    assert reach_of([right, MISS], 4.0) == reach_of([MISS, right], 4.0) == reach_of([MISS], 4.0)
    assert reach_of([right], 4.0) == Reach()


@pytest.mark.parametrize("unknown", [math.nan, 0.0, math.inf])
def test_what_is_not_known_teaches_nothing(unknown: float) -> None:
    """Neither the figure before, nor the forecast, nor what came."""
    for at in range(3):
        figures = [100.0, 400.0, 150.0]
        figures[at] = unknown
        before, said, came = figures
        assert reach_of([Foretold(before=before, said=said, came=came)], 4.0) == Reach()
    assert reach_of([MISS], math.nan) == Reach()
