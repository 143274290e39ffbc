"""What is forecast of the simulated shop, next to what its sessions then get done."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.planning.decisions import replay_decision, store_decision
from tests.simulation.site import Site


@pytest.mark.parametrize("policy", ["", "maximum_moves: 2", "maximum_moves: 4"])
def test_throughput_comes_as_it_was_forecast(tmp_path: Path, policy: str) -> None:
    """Sessions that think, writes and scans that come with the work: inside the interval, and off by half at most."""
    site = Site(tmp_path, policy=policy)
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        said = ledger.proposals.row(number).proposal.forecast
        watch.act()
        site.observe(watch)
    came = site.world.rates().transactions
    assert said is not None
    assert said.per_second is not None
    assert said.per_second_low is not None
    assert said.per_second_high is not None
    assert said.per_second / 1.5 <= came <= said.per_second * 1.5
    assert said.per_second_low <= came <= said.per_second_high
    assert said.busiest


def test_what_came_is_known_to_the_next_plan(tmp_path: Path) -> None:
    """The outcome of the first moves is part of what the next plan, and whoever replays it, is made from."""
    site = Site(tmp_path, policy="maximum_moves: 2")
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        said = ledger.proposals.row(number).proposal.forecast
        watch.act()
        watch.verify()  # it settles from now on
        site.observe(watch)
        (outcome,) = watch.verify()
        planning = watch.plan()
        assert planning is not None
        store_decision(ledger, "sim", planning)
        replayed = replay_decision(ledger, "sim")
    assert said is not None
    assert replayed is not None
    (past,) = planning.situation.past_forecasts
    assert (past.rate.said, past.rate.came) == (said.per_second, outcome.transactions_per_second_after)
    assert replayed.situation.past_forecasts == (past,)
