"""A rejected plan is not proposed again by the agent while nothing about it differs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.ledger.ledger import Ledger
from agent.service.watch import Watch
from policies.model.settings import Pin
from tests.simulation.site import Site

YEAR = 365 * 86400.0
WHO: dict[str, Any] = {"who": "ann", "origin": "test"}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop whose rejected plans rest for three hours."""
    return Site(tmp_path, policy="cool_down: 3h")


def propose(watch: Watch) -> int | None:
    """Plan once more and store the proposal, as the daemon does."""
    watch.sample()
    planning = watch.plan()
    assert planning is not None
    assert planning.plan.moves
    return watch.propose(planning)


def rejected(site: Site, watch: Watch, ledger: Ledger) -> int:
    """The number of the first proposal, rejected."""
    site.observe(watch)
    number = propose(watch)
    assert number is not None
    ledger.proposals.reject(number, **WHO, reason="month end")
    return number


def test_the_same_plan_rests_for_the_cool_down(site: Site) -> None:
    """The next plans have the same statements and are not proposed; once ``cool_down`` has passed they are."""
    with site.agent() as (watch, ledger):
        number = rejected(site, watch, ledger)
        assert propose(watch) is None
        site.clock.sleep(timedelta(hours=2, minutes=59).total_seconds())
        assert propose(watch) is None
        site.clock.sleep(timedelta(minutes=1).total_seconds())
        again = propose(watch)
        assert again is not None
        assert again > number


def test_a_no_of_a_clock_that_was_ahead_rests_no_longer(site: Site) -> None:
    """Rejected while the clock was a year ahead, which was then set right: it is proposed again, not in a year."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        number = propose(watch)
        assert number is not None
        ledger.proposals.row(number)
        site.clock.jump(YEAR)
        ledger.proposals.reject(number, **WHO, reason="month end")
        site.clock.jump(-YEAR)
        again = propose(watch)
        assert again is not None
        assert again > number


def test_a_plan_that_differs_is_proposed_at_once(site: Site) -> None:
    """One move less is another question."""
    with site.agent() as (watch, ledger):
        number = rejected(site, watch, ledger)
        last = ledger.proposals.row(number).proposal.moves[-1].key
        ledger.pins.pin("sim", last, Pin.NEVER, who="ann", reason="", until=None)
        assert (propose(watch) or 0) > number


def test_a_person_may_propose_it_again(site: Site) -> None:
    """What a command asks for is stored whatever was rejected before."""
    with site.agent() as (watch, ledger):
        number = rejected(site, watch, ledger)
        asking = Watch(
            site.config.database(), ledger, site.clock, level=site.config.level, dry_run=False, asked_by="bo"
        )
        try:
            assert (propose(asking) or 0) > number
        finally:
            asking.close(save=False)
