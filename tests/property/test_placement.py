"""What every answer of the solver keeps, whatever it is asked."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from policies.placement.solver.offers import SLACK, STAY, Offers
from policies.placement.solver.search import search
from policies.placement.solver.solve import bound, place
from tests.examples import examples

GAINS = st.integers(-50, 100).map(float) | st.just(-np.inf)
USES = st.integers(-20, 30).map(float)


@st.composite
def asked(draw: st.DrawFn, at_most: int = 7) -> Offers:
    """A few items with one or two options each and up to three resources."""
    resources, options, items = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(0, at_most))
    gain = [[draw(GAINS) for _ in range(items)] for _ in range(options)]
    consumption = [[[draw(USES) for _ in range(items)] for _ in range(options)] for _ in range(resources)]
    return Offers(
        gain=np.array(gain).reshape(options, items),
        consumption=np.array(consumption).reshape(resources, options, items),
        capacity=np.array([float(draw(st.integers(0, 60))) for _ in range(resources)]),
    )


def best(of: Offers) -> float:
    """The most that any choice brings, by trying all of them."""
    found = 0.0
    for options in product(range(STAY, len(of.gain)), repeat=len(of)):
        choice = np.array(options, dtype=np.int64)
        if of.fits(choice):
            found = max(found, of.total_gain(choice))
    return found


@settings(deadline=None, max_examples=examples(200))
@given(asked())
def test_few_items_are_decided_best(of: Offers) -> None:
    """The answer fits, nothing beats it, and it says so."""
    answer = place(of)
    assert of.fits(answer.choice)
    assert answer.gain == pytest.approx(of.total_gain(answer.choice))
    assert answer.gain == pytest.approx(best(of))
    assert answer.gain - 1e-6 <= answer.bound <= answer.gain * (1 + 3e-5) + 1e-6  # nearer it does not look
    assert bound(of).gain >= answer.gain - 1e-6


@settings(deadline=None, max_examples=examples(100))
@given(asked(), st.floats(0.0, 1.0))
def test_a_search_that_has_enough_still_proves_a_bound(of: Offers, share: float) -> None:
    """Asked for a share of the optimum, a search brings at least that, and its bound is no lower than the optimum."""
    assume(len(of))
    most = best(of)
    found = search(of, np.ones((1, len(of.capacity))), 4000, floor=-1.0, enough=share * most)
    assert found.choice is not None
    assert of.fits(found.choice)
    assert found.gain == pytest.approx(of.total_gain(found.choice))
    assert found.gain >= min(share * most, most - 1e-6)
    assert found.bound >= most - 1e-6


ALIKE = Offers(  # two resources that are used alike: the ellipsoid that holds their prices becomes long and thin
    gain=np.array([[0.0, 1.0, 0.0]]),
    consumption=np.array([[[0.0, 0.0, 2.0]], [[0.0, 0.0, 0.0]], [[0.0, 0.0, 2.0]]]),
    capacity=np.array([1.0, 0.0, 1.0]),
)


@settings(deadline=None, max_examples=examples(100))
@example(of=ALIKE, which=0, more=1)
@given(asked(), st.integers(0, 2), st.integers(1, 40))
def test_more_of_anything_never_brings_less(of: Offers, which: int, more: int) -> None:
    """More room, a larger budget or another move never lowers what the answer gains, or its bound."""
    capacity = of.capacity.copy()
    capacity[which % len(capacity)] += more
    larger = Offers(gain=of.gain, consumption=of.consumption, capacity=capacity)
    assert place(larger).gain >= place(of).gain - 1e-6
    assert bound(larger).gain >= bound(of).gain - 1e-6


@settings(deadline=None, max_examples=examples(100))
@given(asked(), st.sampled_from([2.0**-10, 2.0, 2.0**20]))
def test_the_unit_of_a_resource_changes_nothing(of: Offers, factor: float) -> None:
    """Uses and room in another unit give the same choice."""
    other = Offers(gain=of.gain, consumption=of.consumption * factor, capacity=of.capacity * factor)
    assert place(of).choice.tolist() == place(other).choice.tolist()


@settings(deadline=None, max_examples=examples(25))
@example(seed=5779, items=1384, options=2, resources=1)  # over by rounding
@given(st.integers(0, 2**32 - 1), st.integers(20, 1500), st.integers(1, 2), st.integers(1, 4))
def test_many_items_keep_every_limit(seed: int, items: int, options: int, resources: int) -> None:
    """However many there are: within every resource, never worse than nothing, never above the bound."""
    random = np.random.default_rng(seed)
    size = np.exp(random.normal(0, 2, items))
    consumption = size * random.uniform(-0.5, 1, (resources, options, items))
    gain = size * random.pareto(1.2, (options, items)) - size * (consumption[0] < 0) * 5
    of = Offers(gain=gain, consumption=consumption, capacity=np.maximum(0.0, consumption.sum(axis=(1, 2)) * 0.1))
    answer = place(of)
    assert np.all(
        of.total_consumption(answer.choice) <= of.capacity + SLACK * of.scale()
    )  # what is rounding is a share of the largest use
    assert 0 <= answer.gain <= answer.bound + 1e-9
    assert answer.bound <= bound(of).gain * (1 + 1e-6) + 1e-6
