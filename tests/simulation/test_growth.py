"""A shop that grows: nothing is refused because it grew as it always does, and the fast tier never fills."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agent.model.proposals import ProposedMove
from agent.model.states import MoveState
from connectors.simulated.world import World
from policies.model.moves import MoveReason
from tests.simulation.growing import HEAD_ROOM, GrowingShop
from tests.simulation.site import Site

HOUR = 3600.0
IDLE = '"shop"."archive_2019"'
HOT = '"shop"."orders"'
NEWEST = '"shop"."measurements_2024q4"'


def test_days_of_growth(tmp_path: Path) -> None:
    """A partition a day and a third of the tables by 3 % a day, approved in the morning, moved at night.

    Longer in the benchmark `growth`.
    """
    days = GrowingShop(tmp_path).live(3)
    assert days.reasons[MoveReason.PROMOTE] > 5
    assert not days.not_done
    assert days.fullest < 1 - HEAD_ROOM / 2
    assert any("log_p" in key for key in days.rises), "the partition of a day goes up while it is hot"


def grown(world: World, key: str, factor: float) -> None:
    """A table of the world becomes larger where it is."""
    with world.turn():
        units = world.placement.units
        units.size_bytes = np.where([name == key for name in units.keys], units.size_bytes * factor, units.size_bytes)
        units.size_bytes = units.size_bytes.astype(np.int64)
        world.mark_changed()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """The simulated shop; its SSD holds 6.4 GB that nobody reads, of 8."""
    return Site(tmp_path, sample_every="1h")


def test_a_full_tier_of_idle_tables_gives_room_to_what_grows(site: Site) -> None:
    """The hot table is there and doubles in a day: the idle one leaves before the tier is full, and it is approved."""
    with site.agent() as (watch, ledger):
        with site.world.turn():
            placement = site.world.placement
            for key in (HOT, '"shop"."orders_pkey"', '"shop"."orders_by_customer"'):
                placement.units.space[placement.row(key)] = placement.space_row("ssd")
            placement.units.size_bytes[placement.row(IDLE)] = 4_500 * 10**6
            site.world.mark_changed()
        for _ in range(24):
            watch.sample()
            grown(site.world, HOT, 1.01)
            site.clock.sleep(HOUR)
        watch.sample()
        planning = watch.plan()
        assert planning is not None
        number = watch.propose(planning)
        assert number is not None
        first: ProposedMove = ledger.proposals.row(number).proposal.moves[0]
        assert (first.key, first.reason, first.to_space) == (IDLE, MoveReason.GROWTH, "hdd")
        ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
        assert watch.act()[0].state is MoveState.PLACED
        assert site.homes()[IDLE] == "hdd"


def test_an_approval_holds_for_the_growth_that_it_showed(site: Site) -> None:
    """The newest partition grows by 5 % an hour: 30 % larger it is moved all the same, as was shown."""
    with site.agent() as (watch, ledger):
        for _ in range(12):
            watch.sample()
            grown(site.world, NEWEST, 1.05)
            site.clock.sleep(HOUR)
        watch.sample()
        planning = watch.plan()
        assert planning is not None
        number = watch.propose(planning)
        assert number is not None
        proposal = ledger.proposals.row(number).proposal
        move = next(move for move in proposal.moves if move.key == NEWEST)
        assert move.expected_bytes is not None
        assert move.size_bytes < move.expected_bytes < move.largest_bytes
        assert move.largest_bytes > 1.3 * move.size_bytes
        grown(site.world, NEWEST, 1.3)
        site.clock.sleep(5 * HOUR)
        ledger.proposals.approve(number, who="ann", origin="test", digest=ledger.proposals.row(number).digest)
        placed = {row.move.key for row in watch.act() if row.state is MoveState.PLACED}
        assert NEWEST in placed
