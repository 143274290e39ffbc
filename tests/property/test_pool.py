"""One budget for several databases: no other choice of sizes saves more."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.placement.pool import PoolTooSmall, SizeCurve, share_pool
from tests.examples import examples


@st.composite
def curves(draw: st.DrawFn) -> SizeCurve:
    """A rising curve of a few sizes; steps of any shape, with equal values among them."""
    steps = draw(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 20)), max_size=4))
    least = draw(st.integers(0, 5))
    sizes = np.cumsum([least, *(step for step, _ in steps)])
    return SizeCurve("", sizes.astype(np.int64), np.cumsum([0.0, *(float(gain) for _, gain in steps)]))


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(curves(), min_size=1, max_size=5), st.integers(0, 150))
def test_no_other_choice_saves_more(listed: list[SizeCurve], budget: int) -> None:
    """As good as the best of all choices that fit, tried one by one; below a bound that none exceeds."""
    values = [
        sum(float(curve.saved[at]) for curve, at in zip(listed, chosen, strict=True))
        for chosen in product(*(range(len(curve.bytes)) for curve in listed))
        if sum(int(curve.bytes[at]) for curve, at in zip(listed, chosen, strict=True)) <= budget
    ]
    if not values:
        with pytest.raises(PoolTooSmall):
            share_pool(listed, budget)
        return
    plan = share_pool(listed, budget)
    assert plan.exact
    assert plan.bytes <= budget
    assert plan.saved == plan.bound == max(values)
    assert plan.bytes == sum(int(curve.bytes[at]) for curve, at in zip(listed, plan.chosen, strict=True))


def random_fleet(databases: int) -> list[SizeCurve]:
    """Curves of whole objects as databases have them: falling steps of all sizes, not quite concave."""
    random = np.random.default_rng(7)
    made = []
    for number in range(databases):
        sizes = np.cumsum(random.lognormal(20, 1.5, 40)).astype(np.int64)
        gains = random.lognormal(5, 2) * np.sort(random.pareto(1.5, 40))[::-1] * random.uniform(0.7, 1.3, 40)
        saved = np.append(0.0, np.cumsum(gains))
        made.append(SizeCurve(f"db{number}", np.append(0, sizes), saved))
    return made


def test_a_thousand_databases() -> None:
    """Within a millionth of the bound, with next to nothing left free; more room is worth its price at most."""
    fleet = random_fleet(1000)
    budget = sum(int(curve.bytes[-1]) for curve in fleet) // 8
    plan = share_pool(fleet, budget)
    assert (1 - 1e-5) * plan.bound <= plan.saved <= plan.bound
    assert budget - plan.bytes < budget // 1000
    assert plan.price > 0
    richer = share_pool(fleet, budget + 100 * 2**30)
    gained = richer.saved - plan.saved
    assert 0 < gained <= plan.price * (100 * 2**30 + budget - plan.bytes) * (1 + 1e-6)
