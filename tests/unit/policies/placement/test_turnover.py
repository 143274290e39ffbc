"""The bucket that prices giving way: what quiet weeks save, and what that does for a load that comes once a month."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies.benefit.costs import turnover_multiplier
from policies.model.plan import PolicySettings
from policies.placement.balancer import make_plan
from policies.placement.turnover import SAVED_WEEKS, WEEK_SECONDS, bucket_level
from tests.unit.policies.situations import MIB, Site, Unit

DAY = 24 * 3600.0
PER_WEEK = 0.33


def test_nothing_is_saved_before_anything_gave_way() -> None:
    """Nobody knows how long the tier was watched before its first swap."""
    assert bucket_level([], PER_WEEK) == 0.0
    assert bucket_level([(0.0, 0.2)], PER_WEEK) == pytest.approx(0.2)


def test_a_quiet_week_saves_its_turnover_for_four_weeks_at_most() -> None:
    """One week after a small swap is emptied a week's share is there to be spent, after a year that of four."""
    emptied = WEEK_SECONDS * 0.11 / PER_WEEK
    assert bucket_level([(emptied, 0.11)], PER_WEEK) == pytest.approx(0.0)
    assert bucket_level([(emptied + WEEK_SECONDS, 0.11)], PER_WEEK) == pytest.approx(-PER_WEEK)
    assert bucket_level([(52 * WEEK_SECONDS, 0.11)], PER_WEEK) == pytest.approx(-SAVED_WEEKS * PER_WEEK)


def test_what_was_saved_is_spent_before_the_price_rises() -> None:
    """Below empty giving way counts at its cost; the price begins where nothing is saved any more."""
    settings = PolicySettings(turnover_per_week=PER_WEEK)
    assert turnover_multiplier(-SAVED_WEEKS * PER_WEEK, settings) == turnover_multiplier(0.0, settings) == 1.0
    assert turnover_multiplier(0.01, settings) > 1.0


def test_the_way_back_from_a_month_end_is_as_cheap_as_the_way_out() -> None:
    """Half of the tier gave way three days ago. After a quiet month that leaves the price alone, in a busy one not."""
    settings = PolicySettings(turnover_per_week=PER_WEEK)
    out = (3 * DAY, 0.5)
    quiet = bucket_level([(30 * DAY, 0.1), out], PER_WEEK)
    busy = bucket_level([*((week * WEEK_SECONDS, PER_WEEK) for week in (4, 3, 2, 1)), out], PER_WEEK)
    assert turnover_multiplier(quiet, settings) == 1.0
    assert turnover_multiplier(busy, settings) > 1000.0


def test_a_plan_swaps_as_much_as_was_saved() -> None:
    """Two swaps bring little for their copies: with an empty bucket one is made, with turnover saved both are."""
    units = [
        Unit(key="first out", size=10 * MIB, space="fast", sync=0.1),
        Unit(key="second out", size=10 * MIB, space="fast", sync=0.5),
        Unit(key="first in", size=10 * MIB, sync=60.0),
        Unit(key="second in", size=10 * MIB, sync=30.0),
    ]
    settings = PolicySettings(head_room_ratio=0.0, turnover_per_week=0.25)
    situation = Site(room={"fast": 0, "slow": 10**15}).situation(units)

    def moved(weeks_saved: float) -> list[str]:
        level = -weeks_saved * settings.turnover_per_week
        return [move.key for move in make_plan(replace(situation, turned_over_ratio=level), settings).moves]

    assert moved(0.0) == ["first out", "first in"]
    assert moved(SAVED_WEEKS) == ["first out", "first in", "second out", "second in"]
