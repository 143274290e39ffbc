"""A ledger that does not agree with itself stops everything: nothing is sent, and everybody can see it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.ledger.errors import Untrusted
from agent.ledger.rows import HistorySettings, MoveRow, RequestKind
from agent.model.approvals import Conditions
from agent.model.states import MoveState
from agent.service.jobs import Jobs
from agent.service.metrics import AgentCollector
from agent.service.snapshot import status_document
from agent.service.watch import Watch
from tests.simulation.site import Site
from tests.simulation.test_groups import a_group, bring, crowded


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Approved moves run."""
    return Site(tmp_path)


def metric(watch: Watch) -> float:
    """What Prometheus sees of it."""
    families = {family.name: family for family in AgentCollector(lambda: [watch.snapshot], top_units=1).collect()}
    (sample,) = families["hotplace_ledger_trusted"].samples
    return sample.value


def forge(site: Site, sql: str) -> None:
    """Change the ledger without hotplace."""
    with closing(sqlite3.connect(site.folder / "ledger.db")) as file, file:
        file.execute(sql)


def test_a_forged_approval_moves_nothing(site: Site) -> None:
    """A proposal that is marked approved in the tables alone; the metric, the status and the error say so."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        before = site.homes()
        forge(site, "UPDATE audit SET facts=replace(facts, 'ann', 'bob') WHERE event='proposal.approved'")
        with pytest.raises(Untrusted, match=r"nothing was sent"):
            watch.act()
        assert (site.homes(), metric(watch)) == (before, 0.0)
        assert "was changed after it was written" in status_document(watch.snapshot, site.clock.now(), 1)["untrusted"]
        assert {row.state for row in ledger.moves.rows(proposal_id=number)} == {MoveState.APPROVED}
        forge(site, "UPDATE audit SET facts=replace(facts, 'bob', 'ann') WHERE event='proposal.approved'")
        watch.act()
        assert (site.homes() != before, metric(watch)) == (True, 1.0)


@pytest.mark.parametrize("states", [(MoveState.PRECHECK,), (MoveState.PRECHECK, MoveState.RUNNING)])
def test_what_had_not_begun_when_the_agent_was_killed_expires(tmp_path: Path, states: tuple[MoveState, ...]) -> None:
    """Away for longer than the approval holds, while the rest of the group expired: nobody forged anything."""
    site = Site(tmp_path, scenario="eight_tables")
    with site.agent() as (watch, ledger):
        watch.sample()
        crowded(site)
        number = a_group(site, watch, ledger)
        (first, *_) = ledger.moves.rows(proposal_id=number)
        for state in states:
            ledger.moves.transition(first.id, state, "before the kill")
        site.clock.sleep(400 * 86_400.0)
        ledger.proposals.expire_due()
        watch.act()
        assert {row.state for row in ledger.moves.rows(proposal_id=number)} <= {MoveState.EXPIRED, MoveState.SKIPPED}
        assert metric(watch) == 1.0


def test_what_was_interrupted_needs_its_signatures(tmp_path: Path) -> None:
    """Rows that say it runs are not enough to have it placed, though its table lies where it was to go."""
    site = Site(tmp_path, scenario="eight_tables")
    with site.agent() as (watch, ledger):
        watch.sample()
        crowded(site)
        number = a_group(site, watch, ledger)
        (first, *_) = ledger.moves.rows(proposal_id=number)
        for state in (MoveState.PRECHECK, MoveState.RUNNING):
            ledger.moves.transition(first.id, state, "as a forger writes it")
        bring(site, (first.move.key,), first.move.to_space)
    site.signers = tmp_path / "allowed_signers"
    site.signers.touch()
    with site.agent() as (watch, ledger):
        watch.sample()
        watch.act()
        assert ledger.moves.row(first.id).state is MoveState.RUNNING
        assert "signatures" in watch.snapshot.untrusted


def test_the_alert_ends_with_its_cause(site: Site) -> None:
    """The move is cancelled, so no statement asks for trust again; the alert stays until the chain fits."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        forge(site, "UPDATE audit SET actor='x' WHERE event='proposal.stored'")
        with pytest.raises(Untrusted):
            watch.act()
        for row in ledger.moves.rows(proposal_id=number, states={MoveState.APPROVED}):
            if ledger.moves.row(row.id).state is MoveState.APPROVED:
                ledger.requests.submit(row.id, RequestKind.CANCEL, who="ann", origin="test", reason="")
        assert not ledger.moves.has_pending_moves("sim")
        watch.act()
        assert metric(watch) == 0.0
        actor = ledger.audit.rows()[0].actor
        forge(site, f"UPDATE audit SET actor='{actor}' WHERE event='proposal.stored'")
        watch.act()
        assert metric(watch) == 0.0, "the whole chain is read once a minute"
        site.clock.sleep(61.0)
        watch.act()
        assert (metric(watch), status_document(watch.snapshot, site.clock.now(), 1)["untrusted"]) == (1.0, None)


def test_a_change_in_mid_move_stops_at_the_next_statement(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The move began with a ledger that agreed; what is left of it is not sent."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        transition = ledger.moves.transition

        def tampering(move: int, to: MoveState, reason: str) -> MoveRow:
            row = transition(move, to, reason)
            if to is MoveState.RUNNING:
                forge(site, "UPDATE audit SET actor='x' WHERE event='proposal.stored'")
            return row

        monkeypatch.setattr(ledger.moves, "transition", tampering)
        before = site.homes()
        with pytest.raises(Untrusted):
            watch.act()
        assert site.homes() == before


def test_the_chain_is_anchored_every_hour(site: Site) -> None:
    """Also where nothing is decided: what the daemon does by itself is noted too."""
    with site.agent() as (watch, ledger):
        file = site.folder / "ledger.db.anchors"
        jobs = Jobs(ledger, site.clock, HistorySettings(history_seconds=86400.0))
        site.observe(watch, 15)
        jobs.plan(watch)
        before = file.read_text().splitlines()
        jobs.anchor()
        after = file.read_text().splitlines()
        assert after[:-1] == before
        assert f"row={ledger.audit.rows(1)[0].id} hash={ledger.audit.rows(1)[0].hash}" in after[-1]


@pytest.mark.parametrize(
    ("conditions", "moves"),
    [
        (Conditions(), True),
        (Conditions(most_bytes=1), False),
        (Conditions(most_bytes=1 << 50, least_gain_per_hour=1.0), True),
        (Conditions(least_gain_per_hour=1e9), False),
    ],
)
def test_an_approval_with_conditions(site: Site, conditions: Conditions, moves: bool) -> None:
    """By the sizes and the plan of now; what does not meet them is skipped, with the reason."""
    with site.agent() as (watch, ledger):
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        number = watch.propose(planning)
        assert number is not None
        digest = ledger.proposals.row(number).digest
        ledger.proposals.approve(number, who="ann", origin="test", digest=digest, conditions=conditions)
        before = site.homes()
        watch.act()
        assert (site.homes() != before) is moves
        reasons = {row.reason for row in ledger.moves.rows(proposal_id=number) if row.state is MoveState.SKIPPED}
        assert bool(reasons) is not moves
        assert all("it was approved for" in reason for reason in reasons)
