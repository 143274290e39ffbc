"""The bench's referee of three tiers against every end that moves can reach, one after the other, each unit once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.policy_instances import Instance, instance, program, referee
from tests.bench.policy_proof import proven_bound
from tests.examples import examples

UNITS = 7


def tiny(seed: int, full: float) -> Instance:
    """A few units in three tiers, those above filled to a share or less, with a budget of a good half of all bytes."""
    random = np.random.default_rng(seed)
    of = instance(UNITS, 1.0, seed, 3)
    size, tier = np.round(random.lognormal(3.0, 1.0, UNITS)) + 1.0, random.integers(0, 3, UNITS)
    held = np.bincount(tier, weights=size, minlength=3)[:2]
    wait = np.array([1.0, 5.0, 55.0])[:, np.newaxis] * random.lognormal(0.0, 1.5, UNITS)
    return replace(
        of,
        settings=replace(of.settings, maximum_bytes=int(0.6 * size.sum())),
        size=size,
        tier=tier,
        movable=random.random(UNITS) < 0.9,
        wait=wait,
        cost=size / 100,
        capacity=np.floor(held + (1.0 - full) * random.random(2) * size.max()),
    )


def best_reached(of: Instance) -> float:
    """The best end of all orders in which each move finds room and no unit moves twice, within the budget."""
    best, seen = 0.0, set[tuple[int, ...]]()
    waiting = [tuple(of.tier.tolist())]
    while waiting:
        tiers = waiting.pop()
        now = np.array(tiers)
        moved = now != of.tier
        units = np.arange(UNITS)
        saved = of.wait[of.tier, units] - of.wait[now, units] - np.where(moved, of.cost, 0.0)
        best = max(best, float(saved.sum()))
        free = of.capacity - np.bincount(now, weights=of.size, minlength=3)[:2]
        for unit in np.flatnonzero(~moved & of.movable & (of.size[moved].sum() + of.size <= of.budget)):
            for to in {0, 1, 2} - {tiers[unit]}:
                after = (*tiers[:unit], to, *tiers[unit + 1 :])
                if (to == 2 or of.size[unit] <= free[to]) and after not in seen:
                    seen.add(after)
                    waiting.append(after)
    return best


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_no_order_of_moves_reaches_more_than_the_referee_allows(seed: int, full: float) -> None:
    """What the best order of moves brings is within the proof, and the proof within the relaxation."""
    of = tiny(seed, full)
    reached, relaxed = best_reached(of), referee(of, relaxed=True).bound
    proven = proven_bound(program(of), 0.0, near=1e-9)
    assert reached <= proven * (1 + 1e-7) + 1e-7
    assert proven <= relaxed * (1 + 1e-6) + 1e-6


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_the_proof_and_highs_agree(seed: int, full: float) -> None:
    """Of three tiers branch and bound ends where HiGHS by itself ends."""
    of = tiny(seed, full)
    alone = referee(of, gap=1e-9)
    assert abs(proven_bound(program(of), 0.0, near=1e-9) - alone.value) <= 1e-5 * max(alone.value, 1.0)


def test_mostly_the_referee_allows_no_more_than_can_be_reached() -> None:
    """Of a hundred instances nine in ten have an order of moves that brings all that the referee allows."""
    reached = [
        best_reached(of) >= proven_bound(program(of), 0.0, near=1e-9) * (1 - 1e-6) - 1e-7
        for of in (tiny(seed, 0.9) for seed in range(100))
    ]
    assert np.mean(reached) >= 0.9
