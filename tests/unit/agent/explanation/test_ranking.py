"""What the list of units says of their waits."""

from __future__ import annotations

import numpy as np
import pytest

from agent.planning.planner import Planning
from agent.planning.ranking import Ordered, UnitStanding, ranking_of
from connectors.model.observation import DatabaseDemand
from policies.evidence.prices import with_bounded_waits
from policies.placement.balancer import make_plan
from tests.unit.policies.situations import BARE, NOON, Site, Unit

HOUR = 3600.0


def planning(active: float) -> Planning:
    """Four units on the SSD, whose reads from the HDD would come to 27.5 seconds a second, and one on the HDD."""
    site = Site(database=DatabaseDemand(transactions=100.0, active=active))
    hot = [Unit(key=f"hot{at}", sync=2000.0 / 2**at, space="fast") for at in range(4)]
    situation = with_bounded_waits(site.situation([*hot, Unit(key="slow", sync=10.0)]), BARE)
    plan = make_plan(situation, BARE)
    return Planning(
        situation=situation, settings=BARE, plan=plan, routes=(), costs=(), made_at=NOON, weighed=(situation, plan)
    )


def test_benefits_of_units_share_what_sessions_can_wait() -> None:
    """With two sessions at work the benefits come to 2 h an hour together, and keep their order and proportions."""
    ranking = ranking_of(planning(2.0))
    assert list(ranking.key) == ["hot0", "hot1", "hot2", "hot3", "slow"]
    assert ranking.benefit_per_hour.sum() == pytest.approx(2 * HOUR)
    assert ranking.benefit_per_hour[:4] / ranking.benefit_per_hour[0] == pytest.approx(np.array([1, 0.5, 0.25, 0.125]))


def test_top_and_others_come_to_what_sessions_can_wait() -> None:
    """What metrics show as the others is scaled as the top is: both come to 2 h an hour."""
    standing = UnitStanding.of(Ordered(planning(2.0)), 2)
    top = standing.top.benefit_per_hour.sum()
    others = standing.others["benefit_per_hour"]
    slow = ranking_of(planning(2.0)).benefit_per_hour[4]
    assert top + others == pytest.approx(2 * HOUR)
    assert others - slow == pytest.approx(top / 4)  # 1/4 + 1/8 of the hottest next to 1 + 1/2
    assert standing.beyond("benefit_per_hour", 1) == pytest.approx(2 * HOUR - standing.top.benefit_per_hour[0])
