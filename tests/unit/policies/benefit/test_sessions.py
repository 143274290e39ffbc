"""Waits by the model are no more than the sessions that could have waited."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.model.observation import DatabaseDemand
from policies.evidence.prices import most_waiting, session_share, with_bounded_waits
from policies.evidence.workload import RecentWork, WorkInterval, recall_work
from policies.model.plan import Situation
from policies.model.settings import PolicySettings
from policies.placement.balancer import make_plan
from policies.placement.sizing import sizing
from tests.unit.policies.situations import BARE, HDD, SSD, Site, Unit

HOUR = 3600.0
SETTINGS = PolicySettings()


def busy(active: float, sync: float = 3018.2, fast: float = 0.0, waits: float = math.nan) -> Situation:
    """A table on hdd whose reads at 5.5 ms come to 16.6 seconds a second, another on ssd, and that many sessions."""
    database = DatabaseDemand(transactions=100.0, active=active, read_wait=waits)
    return Site(database=database).situation([Unit(key="hot", sync=sync), Unit(key="up", sync=fast, space="fast")])


def test_sixteen_sessions_wait_sixteen_hours_an_hour_at_most() -> None:
    """16 h 36 min by the model become 16 h: 3,018 reads/s of 5.3 ms, and what is saved is a part of that."""
    before = make_plan(busy(16.0), BARE)
    assert before.wait_per_hour == pytest.approx(16.6 * HOUR, rel=1e-3)
    situation = with_bounded_waits(busy(16.0), BARE)
    plan = make_plan(situation, BARE)
    assert plan.wait_per_hour == pytest.approx(16 * HOUR, rel=1e-6)
    assert plan.wait_saved_per_hour <= plan.wait_per_hour
    assert situation.tiers[1].speed.random_read_seconds == pytest.approx(16.0 / 3018.2)
    assert situation.tiers[0].speed == SSD


def test_where_nobody_counts_sessions_there_is_no_bound() -> None:
    """SQL Server does not tell how long they execute: then the model stands; within the bound it stands too."""
    for active in (math.nan, 17.0, math.inf):
        situation = busy(active)
        assert with_bounded_waits(situation, SETTINGS) is situation


def test_sessions_of_the_longer_horizon_count() -> None:
    """At night few are at work, but heat speaks of the day as well: the larger mean bounds."""
    night = replace(busy(2.0), sessions=17.0)
    assert most_waiting(night) == 17.0
    assert with_bounded_waits(night, SETTINGS) is night
    assert most_waiting(replace(night, sessions=math.nan)) == 2.0


def test_where_the_fast_tier_alone_waits_longer_all_tiers_are_faster() -> None:
    """10,000 reads/s of ssd are 2 s a second at 0.2 ms: one session can wait half of it, and of the hdd as well."""
    situation = with_bounded_waits(busy(1.0, sync=1.0 / 0.0055, fast=10_000.0), SETTINGS)
    fast, slow = (tier.speed.random_read_seconds for tier in situation.tiers)
    assert fast == pytest.approx(0.0002 / 3)
    assert slow == pytest.approx(0.0055 / 3)


def test_waits_of_units_are_scaled_together() -> None:
    """Sessions that can wait 2 h an hour share 8 h in proportion; within the bound, or without one, all stays."""
    waits = np.array([5.0, 2.0, 1.0, 0.0]) * HOUR
    assert session_share(busy(2.0), waits) == 0.25
    assert session_share(busy(9.0), waits) == 1.0
    assert session_share(busy(math.nan), waits) == 1.0
    assert session_share(busy(2.0), np.zeros(0)) == 1.0


@given(
    active=st.floats(0.01, 64.0),
    slow=st.floats(0.0, 50_000.0),
    fast=st.floats(0.0, 500_000.0),
    waits=st.one_of(st.just(math.nan), st.floats(0.0, 100.0)),
)
@example(active=14.0, slow=228.0, fast=13746.0, waits=2.2250738585e-313)  # ratios to it overflow
def test_no_wait_and_no_saving_is_above_the_sessions(active: float, slow: float, fast: float, waits: float) -> None:
    """Of a plan and at every size of the fast tier, at today's latencies, likely and at most; no tier turns over."""
    situation = with_bounded_waits(busy(active, slow, fast, waits), BARE)
    most = active * HOUR * (1 + 1e-6) + 1e-3
    plan = make_plan(situation, BARE)
    assert plan.wait_per_hour <= most
    assert plan.wait_saved_per_hour <= most
    found = sizing(situation, BARE)
    assert found.all_fast_per_hour <= most
    assert found.saved_now_per_hour <= most
    for point in found.points:
        assert max(point.saved_per_hour, point.today_per_hour, point.most_per_hour, point.bound_per_hour) <= most
    upper, lower = (tier.speed for tier in situation.tiers)
    assert upper.random_read_seconds <= lower.random_read_seconds <= HDD.random_read_seconds


def test_sessions_at_work_are_known_by_the_long_horizon() -> None:
    """Eight sessions for a day, then none for six hours: half of them by the short horizon, most by the long one."""
    work = RecentWork()
    for hour in range(30):
        work = work.then(
            WorkInterval(seconds=HOUR, demand=DatabaseDemand(active=8.0 if hour < 24 else 0.0)), 6 * HOUR, 24 * HOUR
        )
    assert work.mean().active == pytest.approx(4.0, rel=0.1)
    assert 5.5 < work.mean_sessions() < 7.0
    counted = work.then(WorkInterval(seconds=HOUR, demand=DatabaseDemand(active=99.0)), 6 * HOUR, counts=False)
    assert counted.mean_sessions() == work.mean_sessions()
    assert recall_work(DatabaseDemand(), (), 6.0).mean_sessions() == 6.0
    assert math.isnan(recall_work(DatabaseDemand(), ()).mean_sessions())


@pytest.mark.parametrize(("hours_before", "mean"), [(0.5, 203.0), (240.0, 121.0)])
def test_a_young_memory_does_not_outweigh_what_comes_after_a_restart(hours_before: float, mean: float) -> None:
    """Half an hour at 100 a second, a restart, half an hour at 300: the mean is between; ten days weigh more."""
    before = RecentWork().then(
        WorkInterval(seconds=hours_before * HOUR, demand=DatabaseDemand(transactions=100.0)), 6 * HOUR
    )
    work = recall_work(before.mean(), (), remembered=before.memory_shares())
    work = work.then(WorkInterval(seconds=0.5 * HOUR, demand=DatabaseDemand(transactions=300.0)), 6 * HOUR)
    assert work.mean().transactions == pytest.approx(mean, rel=0.02)
