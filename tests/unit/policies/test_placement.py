"""The solver alone: existing placement, several resources, the bound."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import Mock

import numpy as np
import pytest

from policies.placement.solver import solve
from policies.placement.solver.offers import STAY, Offers
from policies.placement.solver.search import search
from policies.placement.solver.solve import bound, place


def offers(options: Sequence[Sequence[float]], *capacity: float) -> Offers:
    """Items with one option each, as (gain, use of each resource)."""
    table = np.array(options, dtype=np.float64).reshape(-1, 1 + len(capacity))
    return Offers(gain=table[:, :1].T, consumption=table[:, 1:].T[:, np.newaxis, :], capacity=np.array(capacity))


def taken(of: Offers) -> list[int]:
    """Items with which something is done; checks the answer's own figures."""
    answer = place(of)
    assert of.fits(answer.choice) or (answer.gain == 0 and not (answer.choice != STAY).any())
    assert answer.gain == pytest.approx(of.total_gain(answer.choice))
    assert 0 <= answer.gain <= answer.bound
    return [int(at) for at in np.flatnonzero(answer.choice != STAY)]


def test_somebody_leaves_only_for_somebody_better() -> None:
    """What costs 40 to take away makes room for what brings 50, not for what brings 30."""
    assert taken(offers([(-40, -10), (50, 10)], 0)) == [0, 1]
    assert taken(offers([(-40, -10), (30, 10)], 0)) == []


def test_no_more_leave_than_needed() -> None:
    """Of three that could leave the one that suffices goes, although others are cheaper per byte."""
    assert taken(offers([(-1, -5), (-2, -5), (-9, -10), (100, 10)], 0)) == [0, 1, 3]
    assert taken(offers([(-9, -5), (-9, -5), (-9, -10), (100, 10)], 0)) == [2, 3]


def test_a_budget_of_bytes_counts_both_ways() -> None:
    """With 15 bytes to copy, 10 in for 10 out does not go; 5 in for 5 out does."""
    options = [(-2.0, -10.0, 10.0), (100.0, 10.0, 10.0), (-1.0, -5.0, 5.0), (30.0, 5.0, 5.0)]
    assert taken(offers(options, 0, 15)) == [2, 3]
    assert taken(offers(options, 0, 20)) == [0, 1]
    assert taken(offers(options, 0, 30)) == [0, 1, 2, 3]


def test_with_few_moves_large_gains_come_first() -> None:
    """A hundred crumbs are denser than three loaves, but with three moves the loaves bring more."""
    options = [(10.0, 1.0, 1.0)] * 100 + [(300.0, 100.0, 1.0)] * 3
    few = offers(options, 1000, 3)
    assert taken(few) == [100, 101, 102]
    assert place(few).bound == pytest.approx(900)
    assert len(taken(offers(options, 1000, 1000))) == 103


def test_three_tiers_are_decided_together() -> None:
    """The best place of one item depends on who wants it too: what gains most on the fastest leaves it to the other."""
    gain = np.array([[100.0, 60.0], [95.0, 10.0]])  # fastest, middle
    consumption = np.array([[[10.0, 10.0], [0.0, 0.0]], [[0.0, 0.0], [10.0, 10.0]]])
    answer = place(Offers(gain=gain, consumption=consumption, capacity=np.array([10.0, 10.0])))
    assert answer.choice.tolist() == [1, 0]
    assert answer.gain == answer.bound == 155


def test_what_is_overdrawn_takes_nothing_until_it_is_repaid() -> None:
    """A tier 5 bytes over its room takes 10 more only if 15 leave; otherwise it is left as it is."""
    assert taken(Offers(gain=np.array([[50.0]]), consumption=np.array([[[10.0]]]), capacity=np.array([-5.0]))) == []
    assert place(offers([(-10, -15), (50, 10)], -5)).choice.tolist() == [0, 0]
    assert place(offers([(-60, -15), (50, 10)], -5)).choice.tolist() == [STAY, STAY]


def test_the_bound_is_the_fractional_optimum() -> None:
    """Two whole items and a third of the next; and the resource that holds it up is named."""
    found = bound(offers([(30, 10, 1), (20, 10, 1), (10, 30, 1)], 30, 3))
    assert found.gain == pytest.approx(30 + 20 + 10 / 3)
    assert found.limiting.tolist() == [True, False]
    assert bound(offers([(30, 10, 1)], 30, 3)).limiting.tolist() == [False, False]


def test_nothing_to_gain_is_nothing_to_do() -> None:
    """No items, no room, or no gain: no choice, and the bound says so."""
    for of in (offers([], 10), offers([(10, 1)] * 30, 0), offers([(-10, -1)] * 30, 5)):
        assert taken(of) == []
        assert place(of).bound == pytest.approx(0)
        assert bound(of).gain == pytest.approx(0)


def test_thousands_of_equal_items() -> None:
    """As many as there is room for are taken, and the bound knows it."""
    answer = place(offers([(7.0, 3.0, 1.0)] * 5000, 1000, 200))
    assert answer.gain == pytest.approx(7 * 200)
    assert answer.bound == pytest.approx(7 * 200)


def test_what_nobody_can_afford_to_make_room_for_is_no_hope() -> None:
    """10 bytes in for 10 out are 20 bytes copied: with 15 the answer's bound does not count a part of it either."""
    swap = [(-2.0, -10.0, 10.0), (100.0, 10.0, 10.0)]
    assert place(offers(swap, 0, 15)).bound == pytest.approx(0, abs=1e-6)
    assert place(offers(swap, 0, 20)).gain == 98


def test_of_many_options_only_a_core_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2,000 items with four options 500 are searched, the others do what prices say: within 0.1 % of the bound."""
    random = np.random.default_rng(7)
    count, places = 2_000, 4
    size = random.lognormal(0.0, 1.0, count)
    consumption = np.zeros((places + 1, places, count))
    for place_ in range(places):
        consumption[place_, place_] = size
    consumption[places] = 1.0  # moves
    worth = random.pareto(1.1, count) * size * random.uniform(0.9, 1.0, (places, count))
    capacity = np.array([*[size.sum() * 0.03] * places, 500.0])
    searched = Mock(wraps=search)
    monkeypatch.setattr(solve, "search", searched)
    monkeypatch.setattr(solve, "_CORE", 500)
    monkeypatch.setattr(solve, "MANY", 1_000)
    answer = place(Offers(gain=worth, consumption=consumption, capacity=capacity))
    assert max(len(call.args[0]) for call in searched.call_args_list) <= 500
    assert answer.gain >= 0.999 * answer.bound
