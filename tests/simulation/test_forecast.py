"""What is forecast of the simulated shop, next to what its sessions then get done."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent.planning.decisions import replay_decision, store_decision
from connectors.model.observation import DatabaseDemand
from tests.simulation.site import Site


@pytest.mark.parametrize("policy", ["", "maximum_moves: 2", "maximum_moves: 4"])
def test_throughput_comes_as_it_was_forecast(tmp_path: Path, policy: str) -> None:
    """Sessions that think, writes and scans that come with the work: inside the interval, a tenth off at most."""
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
    assert came == pytest.approx(said.per_second, rel=0.1)
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


def test_hours_show_what_comes_with_the_work(tmp_path: Path) -> None:
    """Two days whose reads ahead follow the transactions and whose writes do not; each sample adds to them."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.observe(watch)
        now = site.world.clock.now()
        (counted, *_) = ledger.work.since("sim", now - timedelta(days=1))
        for hour in range(1, 49):
            rate = 100.0 * (1 + hour % 12)
            made = DatabaseDemand(transactions=rate, read_ahead=3 * rate, written=70.0 + hour % 5)
            ledger.work.append("sim", now - timedelta(days=3, hours=hour), 3600.0, made)
        planning = watch.plan()
        assert planning is not None
        store_decision(ledger, "sim", planning)
        replayed = replay_decision(ledger, "sim")
    assert counted.demand.read_ahead > 0
    assert counted.demand.written > 0
    paced = planning.situation.paced
    assert paced.read_ahead.least > 0.8
    assert paced.writes.most < 0.3
    assert replayed is not None
    assert replayed.situation.paced == paced
