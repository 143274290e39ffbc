"""From when on a plan would move anything: history, waits, certainty and cool-downs, each by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from policies.evidence.prices import copy_seconds, move_cost_seconds
from policies.model.plan import Situation
from policies.model.settings import PolicySettings
from policies.placement.dispatch import FINE_RATIO, FINE_SECONDS, later, moves_after, plan_mode
from tests.unit.policies.situations import MIB, Site, Unit

SETTINGS = PolicySettings(minimum_history_seconds=60.0, regret_ratio=0.0)


def one_unit(*, error: float = 0.0, **unit: float) -> Situation:
    """One unit of 10 reads/s, which waits 198 s an hour on hdd and would save 190.8 of them."""
    situation = Site().situation([Unit(key="u", sync=10.0, **{"observed": 60.0, **unit})])  # type: ignore[arg-type]  # fields by name
    return replace(situation, heat=replace(situation.heat, error=np.array([error])))


@pytest.mark.parametrize(
    ("situation", "floor", "seconds"),
    [
        (one_unit(), 1.0, 0.0),
        (one_unit(observed=10.0), 1.0, 50.0),
        (one_unit(cooling=3000.0), 1.0, 3000.0),
        # 190.8 exp(-1.645 * sqrt(60 / (60 + t))) reaches 100 where 60 + t = 60 * (1.645 / ln 1.908) ** 2
        (one_unit(error=1.0), 100.0, 329.0),
    ],
)
def test_the_time_by_hand(situation: Situation, floor: float, seconds: float) -> None:
    """At the time found there are moves, and a little before it there are none."""
    settings = replace(SETTINGS, minimum_wait_saved_per_hour=floor)
    found = moves_after(situation, settings)
    assert found is not None
    assert abs(found - seconds) <= max(FINE_SECONDS, FINE_RATIO * seconds)
    assert plan_mode(later(situation, settings, found), settings).moves
    before = found - 2 * max(FINE_SECONDS, FINE_RATIO * found)
    assert before < 0 or not plan_mode(later(situation, settings, before), settings).moves


def test_waits_have_to_cost_what_the_move_costs() -> None:
    """With the price of 100 moves: the time in which 190.8 s of wait an hour come to that."""
    situation, settings = one_unit(size=50 * MIB), replace(SETTINGS, regret_ratio=100.0)
    price = 100.0 * float(
        move_cost_seconds(copy_seconds(np.array([50 * MIB]), settings), situation.database, settings)[0]
    )
    found = moves_after(situation, settings)
    assert found is not None
    assert found + 60.0 == pytest.approx(price * 3600.0 / 190.8, rel=2 * FINE_RATIO)
    assert found > 600.0


def test_what_does_not_come_by_watching_never_comes() -> None:
    """A gain below the floor stays below it."""
    assert moves_after(one_unit(), replace(SETTINGS, minimum_wait_saved_per_hour=1000.0)) is None
