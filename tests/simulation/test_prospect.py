"""Who asks early is told what would be proposed, and it is proposed when it was said."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent.planning.ranking import Prospect
from agent.service.watch import Watch
from tests.simulation.site import MINUTE, Site


def asked(watch: Watch) -> Prospect | None:
    """Plan, and what is not proposed yet."""
    planning = watch.plan()
    assert planning is not None
    return watch.prospect(planning)


def proposed_at(site: Site, watch: Watch, minutes: int) -> datetime | None:
    """Sample once a minute and plan fifty times in all; when the first plan with moves was made."""
    for minute in range(minutes):
        site.clock.sleep(MINUTE)
        watch.sample()
        if minute % (minutes // 50 + 1):
            continue
        planning = watch.plan()
        assert planning is not None
        if planning.plan.moves:
            return planning.made_at
    return None


@pytest.mark.parametrize(
    ("policy", "missing"),
    [
        ("regret: 0", "policy.minimum_history"),
        ("regret: 30", "policy.regret"),
        ("regret: 200", "policy.regret"),
        ("regret: 30, half_life: 1min", "policy.regret"),
        ("regret: 0, minimum_gain: 1h", "policy.certainty"),
    ],
)
def test_it_is_proposed_when_it_was_said(tmp_path: Path, policy: str, missing: str) -> None:
    """After two minutes of watching: moves, what is missing, and a time that the first proposal keeps to a tenth."""
    site = Site(tmp_path, policy=policy)
    with site.agent() as (watch, _):
        site.observe(watch, 2)
        prospect = asked(watch)
        assert prospect is not None
        assert prospect.from_when is not None
        assert any(missing in each for condition in prospect.conditions for each in condition.missing)
        expected = prospect.from_when - site.clock.now()
        at = proposed_at(site, watch, minutes=round(expected.total_seconds() / MINUTE * 1.2) + 5)
    assert at is not None
    assert abs(at - prospect.from_when) <= max(timedelta(minutes=2), expected / 10)


def test_no_time_is_made_up(tmp_path: Path) -> None:
    """Where the read times of the tiers are what is not sure, the moves are named, and no time."""
    site = Site(tmp_path, policy="regret: 0, minimum_gain: 4h")
    with site.agent() as (watch, _):
        site.observe(watch, 2)
        prospect = asked(watch)
    assert prospect is not None
    assert prospect.proposal.moves
    assert prospect.from_when is None


def test_it_says_how_sure_it_is(tmp_path: Path) -> None:
    """The interval is that of what little was seen: wide, around the mean, and narrower after more of the same."""
    site = Site(tmp_path)
    with site.agent() as (watch, _):
        widths = []
        for minutes in (2, 6):
            site.observe(watch, minutes)
            prospect = asked(watch)
            assert prospect is not None
            plan = prospect.planning.plan
            assert plan.wait_saved_low_per_hour < plan.wait_saved_per_hour <= plan.wait_saved_high_per_hour
            widths.append(plan.wait_saved_per_hour / plan.wait_saved_low_per_hour)
    assert widths[0] > widths[1] > 1


def test_nothing_is_promised_where_nothing_is_worth_it(tmp_path: Path) -> None:
    """With a floor above all wait there is no prospect, and with a proposal there is no need of one."""
    site = Site(tmp_path, policy="minimum_gain: 100d")
    with site.agent() as (watch, _):
        site.observe(watch, 2)
        assert asked(watch) is None
    other = Site(tmp_path, policy="regret: 0")
    with other.agent() as (watch, _):
        other.observe(watch, 15)
        planning = watch.plan()
        assert planning is not None
        assert planning.plan.moves
        assert watch.prospect(planning) is None


def test_a_prospect_is_not_what_is_explained_later(tmp_path: Path) -> None:
    """What is stored for `units` and `explain` is the plan that counts, not the one that was asked about."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.observe(watch, 2)
        assert asked(watch) is not None
        stored = ledger.state.load_arrays("sim", "ranking")
        assert stored is not None
        assert 0 not in stored[1]["verdict"], "nothing is promoted"
        assert not ledger.proposals.rows(database="sim")
