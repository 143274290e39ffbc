"""A budget for wear: what is used of it drains by the week, and the group that exhausts it is the last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.evidence.capacity import WEEK, turned_over
from policies.model.settings import PolicySettings
from policies.placement.balancer import make_plan
from tests.unit.policies.situations import MIB, Site, Unit

PER_WEEK = 0.33


def test_a_week_drains_what_it_may_turn_over_and_nothing_is_saved() -> None:
    """What gave way just now counts in full, a week ago less by the week's budget; a quiet month saves nothing."""
    assert turned_over([], PER_WEEK) == 0.0
    assert turned_over([(0.0, 0.2)], PER_WEEK) == pytest.approx(0.2)
    assert turned_over([(WEEK, 1.0)], PER_WEEK) == pytest.approx(1.0 - PER_WEEK)
    assert turned_over([(0.0, 0.1), (WEEK, 1.0)], PER_WEEK) == pytest.approx(1.1 - PER_WEEK)
    assert turned_over([(0.0, 0.1), (5 * WEEK, 0.1)], PER_WEEK) == pytest.approx(0.1)


def test_a_plan_swaps_as_long_as_the_budget_lasts() -> None:
    """Three swaps pay. With little used two are made, the second beyond the budget; once it is used up none is."""
    units = [Unit(key=f"out {n}", size=10 * MIB, space="fast", sync=0.1) for n in range(3)]
    units += [Unit(key=f"in {n}", size=10 * MIB, sync=90.0 - 30 * n) for n in range(3)]
    settings = PolicySettings(head_room_ratio=0.0, turnover_per_week=0.5)
    situation = Site(room={"fast": 0, "slow": 10**15}).situation(units)

    def came(used: float, budget: float | None = 0.5) -> list[str]:
        plan = make_plan(replace(situation, turned_over_ratio=used), replace(settings, turnover_per_week=budget))
        return [move.key for move in plan.moves if move.to_space == "fast"]

    assert came(0.1) == ["in 0", "in 1"]
    assert came(0.3) == ["in 0"]
    assert came(0.5) == []
    assert came(9.0, budget=None) == ["in 0", "in 1", "in 2"]
