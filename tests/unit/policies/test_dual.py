"""Prices for several states side by side, the outlook that rests on them, and the search that asks for both."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from connectors.model.observation import F64
from policies.placement.solver.dual import DualEvaluator, importance, prices, reprice
from policies.placement.solver.offers import STAY, Offers
from policies.placement.solver.search import Relaxation, search


def offers(items: int, seed: int, *, capacity: float = 0.2) -> Offers:
    """Two options each and two resources, of which there is room for a share of all that could be used."""
    random = np.random.default_rng(seed)
    size = np.exp(random.normal(0.0, 1.0, items))
    gain = np.rint(np.exp(random.normal(3.0, 1.0, (2, items))) * 1000)
    consumption = np.stack([np.stack([size, np.zeros(items)]), np.stack([size, size])])
    return Offers(
        gain=gain, consumption=consumption, capacity=np.array([size.sum() * capacity / 2, size.sum() * capacity])
    )


def promised(of: Offers, left: F64, price: F64) -> F64:
    """What states can come to at most at prices of their own."""
    return DualEvaluator(of).evaluate(price, left)[0]


def test_states_get_nearly_the_best_prices_of_their_own() -> None:
    """Three rests of room, all begun at the prices of one: asked twice, each promises hardly more than its own dual."""
    of = offers(400, 1)
    left = of.capacity[:, np.newaxis] * np.array([1.0, 0.6, 0.3])
    start = np.repeat(prices(of).price[np.newaxis], 3, axis=0)
    once = reprice(of, left, start, 0.0)
    found = promised(of, left, reprice(of, left, once, 0.0))
    best = [prices(Offers(gain=of.gain, consumption=of.consumption, capacity=capacity)).bound for capacity in left.T]
    assert np.all(found >= np.array(best) * (1 - 1e-9))
    assert found == pytest.approx(best, rel=5e-3)
    assert np.all(found <= promised(of, left, once))
    assert np.all(promised(of, left, once) <= promised(of, left, start))


def test_an_outlook_is_certain_only_of_what_fits() -> None:
    """What a state is sure of fits its room, is what the choice told brings, and is no more than the bound."""
    of = offers(60, 2)
    relaxation = Relaxation(of, prices(of).price * np.array([[1.0], [1.5], [1e6]]), 10)
    gain, left = np.zeros(3), of.capacity[:, np.newaxis] * np.array([1.0, 0.5, 0.01])
    for item in (0, 4, 10):
        sure, bound = (
            relaxation.certain_gain(gain, left, item),
            relaxation.optimistic_gain(gain, left, item).min(axis=0),
        )
        assert np.all(sure <= bound)
        for state in range(3):
            choice = np.full(60, STAY)
            choice[item:] = relaxation.completion(left[:, state], item)
            assert np.all(of.total_consumption(choice) <= left[:, state] + 1e-9)
            assert of.total_gain(choice) == pytest.approx(sure[state])


def test_what_is_large_and_in_doubt_matters_most() -> None:
    """At a price of 1 a byte: 100 bytes for 101 are in doubt, for 900 they are not, 1 byte for 1.01 hardly counts."""
    gain, size = np.array([[900.0, 1.01, 101.0]]), np.array([[[100.0, 1.0, 100.0]]])
    of = Offers(gain=gain, consumption=size, capacity=np.array([50.0]))
    assert np.argsort(-importance(of, np.ones((1, 1)), 900.0)).tolist() == [2, 1, 0]


@pytest.mark.parametrize("seed", range(6))
def test_a_search_wide_enough_finds_the_optimum(seed: int) -> None:
    """Seven items in 3^7 ways: the best of all, whatever the prices, and the bound is met."""
    of = offers(7, seed)
    best = max(of.total_gain(np.array(way)) for way in product((STAY, 0, 1), repeat=7) if of.fits(np.array(way)))
    found = search(of, np.ones((1, 2)), 4000)
    assert found.choice is not None
    assert of.fits(found.choice)
    assert of.total_gain(found.choice) == found.gain == found.bound == best


@pytest.mark.parametrize("seed", range(12))
def test_what_is_settled_on_the_way_is_what_the_optimum_does(seed: int) -> None:
    """Near the optimum from the start, most items keep to what some price says: nothing is lost by it."""
    of = offers(7, seed, capacity=0.4)
    ways = [np.array(way) for way in product((STAY, 0, 1), repeat=7)]
    best = max(of.total_gain(way) for way in ways if of.fits(way))
    found = search(of, prices(of).tried[:12], 4000, floor=best * 0.999)
    assert found.choice is not None
    assert of.fits(found.choice)
    assert of.total_gain(found.choice) == found.gain == found.bound == best


def test_a_narrow_search_says_what_it_may_miss() -> None:
    """Eight states at a time among 300 items: within 1 % of the dual, the answer fits, the bound is above it."""
    of = offers(300, 3)
    found = search(of, prices(of).price[np.newaxis], 8, depth=100)
    assert found.choice is not None
    assert of.fits(found.choice)
    assert of.total_gain(found.choice) == pytest.approx(found.gain)
    assert 0.99 * prices(of).bound <= found.gain <= found.bound
