"""What every decision between single units and whole groups keeps, whatever it is asked."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from connectors.model.observation import F64, I64, Bools
from policies.placement.granularity import ALONE, GranularityProblem, choose_granularity, solve_dual
from policies.placement.solver.offers import Offers
from policies.placement.solver.solve import place
from tests.examples import examples
from tests.property.test_placement import GAINS, USES, best


@st.composite
def ways(draw: st.DrawFn, at_most: int = 6) -> GranularityProblem:
    """A few items, some of them in up to three groups that can go as a whole."""
    resources, options = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    items, groups = draw(st.integers(0, at_most)), draw(st.integers(0, 3))
    gain, consumption = (
        np.array([draw(values) for _ in range(count * options * (items + groups))])
        for values, count in ((GAINS, 1), (USES, resources))
    )
    gain, consumption = gain.reshape(options, -1), consumption.reshape(resources, options, -1)
    capacity = np.array([float(draw(st.integers(0, 60))) for _ in range(resources)])
    group = [draw(st.integers(ALONE, groups - 1)) for _ in range(items)]
    return GranularityProblem(
        single=Offers(gain=gain[:, :items], consumption=consumption[:, :, :items], capacity=capacity),
        grouped=Offers(gain=gain[:, items:], consumption=consumption[:, :, items:], capacity=capacity),
        group=np.array(group, dtype=np.int64),
    )


def every_way(of: GranularityProblem) -> list[Bools]:
    """All combinations of groups that go as a whole."""
    return [np.array(each, dtype=np.bool_) for each in product((False, True), repeat=len(of.grouped))]


@settings(deadline=None, max_examples=examples(80))
@given(ways())
def test_few_groups_are_decided_best(of: GranularityProblem) -> None:
    """No combination beats the answer, which is never both ways at once, fits, and says that it is proven."""
    answer = choose_granularity(of)
    offers, offered = of.offers(answer.whole), of.are_offered(answer.whole)
    alone, together = np.flatnonzero(offered[: len(of.group)]), np.flatnonzero(offered[len(of.group) :])
    assert offers.fits(answer.placement.choice)
    assert not np.isin(of.group[alone], together).any()
    assert answer.placement.gain == pytest.approx(offers.total_gain(answer.placement.choice))
    optimum = max(best(of.offers(each)) for each in every_way(of))
    assert answer.placement.gain == pytest.approx(optimum, rel=3e-5)
    assert optimum - 1e-6 <= answer.placement.bound <= optimum * (1 + 6e-5) + 1e-6


@settings(deadline=None, max_examples=examples(40))
@given(ways())
def test_the_shared_dual_is_above_every_answer(of: GranularityProblem) -> None:
    """Its bound holds for each combination, and is no higher than the worst of their own bounds needs it to be."""
    found = solve_dual(of)
    answers = [place(of.offers(each)) for each in every_way(of)]
    assert found.bound >= max(answer.gain for answer in answers) - 1e-6
    settled = found.advantage > found.bound - choose_granularity(of).placement.gain + 1e-6
    assert choose_granularity(of).whole[settled].all()


@settings(deadline=None, max_examples=examples(40))
@given(ways(), st.integers(1, 40))
def test_more_room_never_brings_less(of: GranularityProblem, more: int) -> None:
    """With more of everything the answer gains as much or more."""
    larger = GranularityProblem(
        single=Offers(gain=of.single.gain, consumption=of.single.consumption, capacity=of.single.capacity + more),
        grouped=Offers(gain=of.grouped.gain, consumption=of.grouped.consumption, capacity=of.grouped.capacity + more),
        group=of.group,
    )
    before = choose_granularity(of).placement.gain
    assert choose_granularity(larger).placement.gain >= before * (1 - 3e-5) - 1e-6


def site(seed: int, items: int, groups: int) -> GranularityProblem:
    """Items of very different sizes, a fifth of which fit; a whole group brings a little more than its members."""
    random = np.random.default_rng(seed)
    group = random.integers(ALONE, groups, items)
    size = np.exp(random.normal(0, 2, items))
    gain = size * random.pareto(1.2, items)
    wide_size, members = (np.bincount(group + 1, column, groups + 1)[1:].astype(np.float64) for column in (size, gain))
    wide_gain = members * (1 + random.uniform(0, 0.3, groups))
    capacity = np.array([size.sum() * 0.2])

    def offers(value: F64, consumption: F64) -> Offers:
        return Offers(gain=value[np.newaxis], consumption=consumption[np.newaxis, np.newaxis], capacity=capacity)

    return GranularityProblem(single=offers(gain, size), grouped=offers(wide_gain, wide_size), group=group)


@pytest.mark.parametrize(("seed", "items", "groups"), [(2, 300, 20), (3, 600, 40), (4, 3000, 200)])
def test_many_groups_keep_every_limit(seed: int, items: int, groups: int) -> None:
    """Within the room, within two thousandths of the bound, and better than one way for all of them."""
    of = site(seed, items, groups)
    answer = choose_granularity(of)
    offers = of.offers(answer.whole)
    assert offers.fits(answer.placement.choice)
    assert 0.998 * answer.placement.bound <= answer.placement.gain <= answer.placement.bound
    for all_one_way in (np.zeros(groups, dtype=np.bool_), np.ones(groups, dtype=np.bool_)):
        assert answer.placement.gain > place(of.offers(all_one_way)).gain


def test_few_moves_are_spent_nearly_as_well_as_they_can_be() -> None:
    """Where a plan holds a dozen moves, whole groups are worth theirs: within half a per cent of a proven optimum."""
    of = site(5, 600, 40)
    single, grouped = (
        Offers(
            gain=each.gain,
            consumption=np.concatenate((each.consumption, np.ones_like(each.consumption))),
            capacity=np.append(each.capacity, 12.0),
        )
        for each in (of.single, of.grouped)
    )
    answer = choose_granularity(GranularityProblem(single=single, grouped=grouped, group=of.group))
    assert answer.whole.any()
    optimum = proven(single, grouped, of.group)
    assert 0.995 * optimum <= answer.placement.gain <= optimum * (1 + 1e-6)
    assert answer.placement.bound >= optimum * (1 - 1e-6)


def proven(single: Offers, grouped: Offers, group: I64) -> float:
    """The optimum by HiGHS: an item or its group, never both."""
    items, groups = len(single), len(grouped)
    member = np.flatnonzero(group != ALONE)
    never_both = np.zeros((len(member), items + groups))
    never_both[np.arange(len(member)), member] = never_both[np.arange(len(member)), items + group[member]] = 1.0
    consumption = np.concatenate((single.consumption[:, 0], grouped.consumption[:, 0]), axis=1)
    found = milp(
        -np.concatenate((single.gain[0], grouped.gain[0])),
        constraints=[
            LinearConstraint(consumption, -np.inf, single.capacity),
            LinearConstraint(never_both, -np.inf, 1.0),
        ],
        integrality=np.ones(items + groups),
        bounds=Bounds(0.0, 1.0),
        options={"time_limit": 30.0},
    )
    return -float(found.mip_dual_bound)
