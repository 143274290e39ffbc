"""What an agent learns over time in a simulated site: measured hours, seasons, costs, and verdicts worked out again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np

from agent.ledger.rows import HistorySettings
from agent.ledger.state_names import HEAT, KNOWN_UNITS, SEASONS, decision_of_proposal
from agent.planning.decisions import drop_old_decisions, load_archived_explanation, replay_decision
from agent.sampling.experience import copy_time_evidence, disturbed_of, since_for, with_experience
from agent.service.jobs import Jobs
from connectors.model.observation import DatabaseDemand
from tests.simulation.site import MINUTE, Site


def test_demand_outside_the_measured_hours_leaves_heat_alone(tmp_path: Path) -> None:
    """A site that measures on one minute of the week only: samples are taken, and no unit becomes hot or watched."""
    site = Site(tmp_path, windows='measured: ["sun 03:00-03:01"]')
    with site.agent() as (watch, _):
        for _ in range(20):
            cycle = watch.sample()
            site.clock.sleep(MINUTE)
        picture = watch.sampler.picture()
    assert "outside the measured hours" in cycle.sentence
    assert cycle.evidence
    assert picture is not None
    assert not picture.heat.rates.any()
    assert not picture.heat.observed_seconds.any()
    assert picture.work.reads > 0


def test_what_was_learnt_is_stored_and_taken_up(tmp_path: Path) -> None:
    """Heat by both horizons, seasons and known units outlive the agent."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.observe(watch)
        watch.close()
        stored = ledger.state.load_arrays("sim", HEAT)
        assert stored is not None
        assert stored[1]["long_sums"].any()
        assert stored[1]["spread"].any()
        seasons, units = ledger.state.load_arrays("sim", SEASONS), ledger.state.load_arrays("sim", KNOWN_UNITS)
        assert seasons is not None
        assert len(seasons[1]["slot"]) > 0
        assert units is not None
        assert len(units[1]["slot"]) == len(site.homes())


def test_a_proposal_can_be_worked_out_again_later(tmp_path: Path) -> None:
    """Hours of other demand later the stored decision still gives the verdicts, moves and figures of its proposal."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        number = watch.propose(planning)
        assert number is not None
        for _ in range(30):
            site.clock.sleep(10 * MINUTE)
            watch.sample()
        watch.plan()
        again = replay_decision(ledger, "sim", decision_of_proposal(number))
        proposal = ledger.proposals.row(number).proposal
    assert again is not None
    np.testing.assert_array_equal(again.plan.verdict, planning.plan.verdict)
    assert [move.sentence for move in again.plan.moves] == [move.sentence for move in proposal.moves]
    assert again.plan.wait_saved_low_per_hour == proposal.wait_saved_low_per_hour


def test_decisions_are_forgotten_with_the_history_unless_their_proposal_is_open(tmp_path: Path) -> None:
    """A rejected proposal's is dropped once it is old, an open one's is kept, and the last plan's is."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        number = watch.propose(planning)
        assert number is not None
        later = site.clock.now() + timedelta(days=1)
        assert drop_old_decisions(ledger, later) == 0
        ledger.proposals.reject(number, who="ann", origin="test", reason="not today")
        assert drop_old_decisions(ledger, site.clock.now() - timedelta(days=1)) == 0
        assert drop_old_decisions(ledger, later) == 1
        assert replay_decision(ledger, "sim", decision_of_proposal(number)) is None
        assert replay_decision(ledger, "sim") is not None


def test_what_nobody_decided_about_is_forgotten_after_a_day(tmp_path: Path) -> None:
    """A proposal that gave way: what it was made from is dropped by the hourly fold a day later, its moves are not."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        older = watch.propose(planning)
        assert older is not None
        ledger.proposals.end(older, "another takes its place")
        rejected = watch.propose(planning)
        assert rejected is not None
        ledger.proposals.reject(rejected, who="ann", origin="test", reason="not today")
        jobs = Jobs(ledger, site.clock, HistorySettings())
        for hours, kept in ((23, True), (2, False)):
            site.clock.sleep(hours * 60 * MINUTE)
            jobs.fold()
            assert (replay_decision(ledger, "sim", decision_of_proposal(older)) is not None) is kept
            assert replay_decision(ledger, "sim", decision_of_proposal(rejected)) is not None
        assert load_archived_explanation(ledger, "sim", older) is not None
        assert ledger.moves.rows(proposal_id=older)


def test_moves_teach_what_moving_costs(tmp_path: Path) -> None:
    """After the first moves copies are said to take what they took, to the weight of what was said before."""
    site = Site(tmp_path)
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.act()
        for _ in range(3):
            site.clock.sleep(MINUTE)
            watch.sample()
        sent = ledger.moves.sent_statements("sim", since_for(site.clock.now()))
        taught = copy_time_evidence(sent)
        assert taught
        ratios = [1.0, *(each.seconds / each.predicted_seconds for each in taught)]
        settings = with_experience(watch.database, ledger, sent, DatabaseDemand())
        assert settings.copy_factors
        assert all(min(ratios) <= each.factor <= max(ratios) for each in settings.copy_factors)
        assert all(each.calm_transactions > 0 for each in disturbed_of(ledger, "sim"))


def test_a_day_of_copies_uses_up_the_endurance(tmp_path: Path) -> None:
    """What was copied stands in the next plan's situation beside the budget, and a day later it no longer does."""
    site = Site(tmp_path, fast_tier="written_per_day: 500 GB")
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.act()
        moved = sum(row.move.size_bytes for row in ledger.moves.rows(database="sim") if row.move.to_tier == "ssd")
        for hours in (0, 25):
            site.clock.sleep(hours * 60 * MINUTE)
            watch.sample()
            planning = watch.plan()
            assert planning is not None
            limits = planning.situation.tiers[0].limits
            assert (limits.written_bytes_per_day, limits.copied_bytes) == (500e9, 0.0 if hours else moved)
        assert moved > 0
