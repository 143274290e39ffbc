"""What the solver does with a choice that fits: takes back what was given up for nothing, fills what is left."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from policies.solver.offers import STAY, Offers
from policies.solver.rounding import polish, stay_everywhere

PRICE = np.array([1.0])


def _offers(gain: list[float], consumption: list[float], capacity: float) -> Offers:
    return Offers(gain=np.array([gain]), consumption=np.array([[consumption]]), capacity=np.array([capacity]))


def test_what_was_given_up_without_need_is_taken_back() -> None:
    """One of two that made room has to go; the dearer stays."""
    offers = _offers([9.0, -1.0, -3.0], [4.0, -4.0, -4.0], 0.0)
    assert polish(offers, np.array([0, 0, 0]), PRICE).tolist() == [0, 0, STAY]


def test_what_is_needed_remains_given_up() -> None:
    """Taking the dearest back would leave too little room, so the next is asked."""
    offers = _offers([9.0, -1.0, -3.0], [4.0, -1.0, -4.0], 0.0)
    assert polish(offers, np.array([0, 0, 0]), PRICE).tolist() == [0, STAY, 0]


def test_room_that_is_left_goes_to_what_gains_most_for_it() -> None:
    """Of two that fit only one by one the denser comes."""
    offers = _offers([5.0, 6.0, 1.0], [2.0, 3.0, 1.0], 3.0)
    assert polish(offers, stay_everywhere(offers), PRICE).tolist() == [0, STAY, 0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 400))
def test_a_polished_choice_fits_and_brings_no_less(seed: int, items: int) -> None:
    """However many take and give room, with two options and two resources each."""
    random = np.random.default_rng(seed)
    consumption = random.integers(-50, 100, (2, 2, items)).astype(np.float64)
    gain = random.integers(-50, 100, (2, items)).astype(np.float64)
    choice = random.integers(-1, 2, items)
    offers = Offers(gain=gain, consumption=consumption, capacity=np.zeros(2))
    offers = Offers(
        gain=gain, consumption=consumption, capacity=offers.total_consumption(choice) + random.integers(0, 100, 2)
    )
    better = polish(offers, choice, np.ones(2))
    assert offers.fits(better)
    assert offers.total_gain(better) >= offers.total_gain(choice)
