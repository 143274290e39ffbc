"""A bound with capacities rounded to whole items holds, and is tight where items are alike."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.placement.balancer import make_plan
from policies.placement.solver.offers import Offers
from policies.placement.solver.solve import bound, rounded_bound
from tests.property.test_spaces import NO_LIMITS
from tests.unit.policies.situations import MIB, Site, Unit

SIZES = st.sampled_from((2.0, 3.0, 5.0, 7.0, 7.5))


def best_of_all(offers: Offers) -> float:
    """The optimum by brute force."""
    gain = np.vstack((np.zeros(len(offers)), offers.gain))
    consumption = np.concatenate((np.zeros((len(offers.capacity), 1, len(offers))), offers.consumption), axis=1)
    items, best = np.arange(len(offers)), 0.0
    for each in product(range(len(gain)), repeat=len(offers)):
        if np.all(consumption[:, list(each), items].sum(axis=1) <= offers.capacity + 1e-9):
            best = max(best, float(gain[list(each), items].sum()))
    return best


@st.composite
def problems(draw: st.DrawFn) -> Offers:
    """Items that come to one of two places or leave it, of few sizes: some consume, some release."""
    count = draw(st.integers(1, 6))
    sizes = np.array(draw(st.lists(SIZES, min_size=count, max_size=count)))
    there = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    worth = np.array(draw(st.lists(st.integers(1, 40), min_size=2 * count, max_size=2 * count))).reshape(2, count)
    consumption = np.zeros((2, 2, count))
    consumption[0, 0] = np.where(there, -sizes, sizes)
    consumption[1, 1] = sizes
    consumption[0, 1] = np.where(there, -sizes, 0.0)
    gain = np.where(there, -worth, worth).astype(np.float64)
    room = draw(st.tuples(st.floats(0, 25), st.floats(0, 25)))
    return Offers(gain=gain, consumption=consumption, capacity=np.array(room))


@settings(max_examples=300, deadline=None)
@given(problems())
def test_no_choice_is_above_it(offers: Offers) -> None:
    """Brute force finds nothing better, and it is never looser than the dual."""
    found = rounded_bound(offers)
    assert found >= best_of_all(offers) * (1 - 1e-9) - 1e-9
    assert found <= bound(offers).gain * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("units", [500, 3500])
@pytest.mark.parametrize("fit", [1.5, 2.9, 10.5])
def test_equal_units(units: int, fit: float) -> None:
    """Of equal units those that fit are the best plan, and the gap says so however many there are."""
    listed = [Unit(key=f"u{at:04}", size=1000 * MIB, sync=300.0) for at in range(units)]
    plan = make_plan(Site(room={"fast": int(fit * 1000 * MIB), "slow": 10**15}).situation(listed), NO_LIMITS)
    assert len(plan.moves) == int(fit)
    assert plan.gap_ratio < 1e-6
