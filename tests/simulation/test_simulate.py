"""Playing the history again: moves that help, windows and capacities that count, and nothing is changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from agent.planning.allowance import Limits
from agent.studies.simulation import NothingRecorded, Played, play, start_of
from policies.model.calendar import Calendar, parse_window
from tests.simulation.site import Site

pytestmark = pytest.mark.xdist_group("simulate")  # what it needs is made once

HOUR = timedelta(hours=1)
OPEN = Limits(calendar=Calendar())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site with four hours of history and a plan, and nothing moved."""
    site = Site(tmp_path_factory.mktemp("recorded"))
    with site.agent() as (watch, _):
        site.observe(watch, 240)
        assert watch.plan() is not None
    return site


def played(site: Site, limits: Limits = OPEN, ssd_bytes: int | None = None) -> Played:
    """The whole history again, with a plan every hour."""
    with site.agent() as (watch, ledger):
        situation, slots = start_of(ledger, "sim")
        if ssd_bytes is not None:
            spaces = tuple(
                replace(space, capacity_bytes=ssd_bytes, free_bytes=ssd_bytes - space.used_bytes)
                if space.name == "ssd"
                else space
                for space in situation.spaces
            )
            situation = replace(situation, spaces=spaces)
        now = site.clock.now()
        rows = ledger.history.read("sim", now - timedelta(days=1), now)
        settings = watch.database.policy_settings()
        return play(situation, settings, slots, rows, limits, safety=1.5, plan_every=HOUR)


def test_moves_save_and_nothing_beats_all_fast(recorded: Site) -> None:
    """As it is > simulated > everything fast; the hot table moves once, within the first plans; twice is the same."""
    found = played(recorded)
    assert found.wait_as_it_is > found.wait_simulated > found.wait_all_fast > 0
    assert '"shop"."orders"' in {move.key for move in found.moves}
    assert found.moved_more_than_once == 0
    assert found.moves[0].at >= found.since + HOUR
    assert played(recorded) == found


def test_windows_delay_and_capacity_limits(recorded: Site) -> None:
    """A window late in the history saves less and holds every move; more room never saves less."""
    window = parse_window("mon 03:00-03:30")
    late = played(recorded, Limits(calendar=Calendar(UTC, (window,))))
    assert late.moves
    assert all(
        (move.at.hour, move.at.minute) >= (3, 0) and (move.at.hour, move.at.minute) <= (3, 30) for move in late.moves
    )
    assert late.wait_simulated > played(recorded).wait_simulated
    assert played(recorded, ssd_bytes=40 * 10**9).wait_simulated <= played(recorded, ssd_bytes=3 * 10**9).wait_simulated


def test_it_asks_and_changes_nothing(recorded: Site) -> None:
    """Homes, proposals and the audit chain are as before."""
    with recorded.agent() as (_, ledger):
        before = (recorded.homes(), ledger.proposals.rows(database="sim"), ledger.audit.verify().head)
    played(recorded)
    with recorded.agent() as (_, ledger):
        assert (recorded.homes(), ledger.proposals.rows(database="sim"), ledger.audit.verify().head) == before


def test_without_a_record_it_says_so(tmp_path: Path) -> None:
    """No plan, then no interval."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        with pytest.raises(NothingRecorded, match="no plan"):
            start_of(ledger, "sim")
        site.observe(watch, 40)
        watch.plan()
        situation, slots = start_of(ledger, "sim")
        with pytest.raises(NothingRecorded, match="no history"):
            play(situation, watch.database.policy_settings(), slots, [], OPEN, safety=1.5, plan_every=HOUR)
