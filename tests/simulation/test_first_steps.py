"""The usual first steps: a dry run, then a reload, an approval at once, a part of a proposal; nothing seen is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.rows import RequestKind
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.model.states import MoveState
from agent.service.watch import Watch
from tests.simulation.site import MINUTE, Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A simulated shop with one hot table and its decoys."""
    return Site(tmp_path)


def settled(site: Site, watch: Watch, minutes: int = 15) -> list[Outcome]:
    """Sample once a minute; what was measured meanwhile."""
    outcomes: list[Outcome] = []
    for _ in range(minutes):
        site.clock.sleep(MINUTE)
        watch.sample()
        outcomes += watch.verify()
    return outcomes


def test_what_was_seen_before_a_reload_is_before_the_move(site: Site) -> None:
    """Watched in a dry run, then dry_run: false, and the approval carried out at once: the outcome is measured."""
    site.dry_run = True
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
    site.dry_run = False
    with site.agent() as (watch, _):
        assert watch.act()
        (outcome,) = settled(site, watch)
    assert outcome.verdict is OutcomeVerdict.HELPED, outcome.sentence
    assert "dates before the moves, when nothing changed, the same comparison errs" in outcome.rests_on
    assert outcome.wait_per_transaction_before > outcome.wait_per_transaction_after > 0


def test_what_was_seen_before_a_reload_is_after_the_move(site: Site) -> None:
    """An agent that comes when everything has settled measures from what the one before it has recorded."""
    with site.agent() as (watch, ledger):
        site.approved(watch, ledger)
        watch.act()
        watch.verify()
        for _ in range(14):
            site.clock.sleep(MINUTE)
            watch.sample()
    with site.agent() as (watch, _):
        (outcome,) = watch.verify()
    assert outcome.measured, outcome.sentence
    assert outcome.window_seconds == 5 * MINUTE


def test_a_part_of_a_proposal_is_compared_with_its_own_prediction(site: Site) -> None:
    """One move struck and one cancelled: what was predicted for the others is what the outcome stands beside."""
    with site.agent() as (watch, ledger):
        number = site.approved(watch, ledger)
        rows = ledger.moves.rows(proposal_id=number)
        assert len(rows) > 2, "there are moves to leave out"
        left_out = rows[-2], rows[-1]
        _leave_out(ledger, number, left_out[0].move.ordinal, left_out[1].id)
        watch.act()
        (outcome,) = settled(site, watch)
        ran = [row for row in ledger.moves.rows(proposal_id=number) if row.state is MoveState.KEPT]
        proposal = ledger.proposals.row(number).proposal
    assert {row.id for row in rows} - {row.id for row in ran} == {row.id for row in left_out}
    predicted = sum(row.move.wait_saved_per_hour for row in ran)
    assert outcome.predicted_wait_saved_per_hour == pytest.approx(predicted)
    assert outcome.predicted_saved_ratio == pytest.approx(predicted / proposal.wait_per_hour)
    assert outcome.predicted_saved_ratio_low < outcome.predicted_saved_ratio < outcome.predicted_saved_ratio_high
    assert f"{len(ran)} of {len(rows)} moves that ran" in outcome.sentence


def _leave_out(ledger: Ledger, number: int, ordinal: int, move_id: int) -> None:
    ledger.proposals.strike(number, ordinal, who="ann", origin="test", reason="not now")
    ledger.requests.submit(move_id, RequestKind.CANCEL, who="ann", origin="test", reason="wrong week")


def test_another_proposals_work_is_not_before(site: Site) -> None:
    """What sessions waited before the first proposal's moves says nothing of the second's."""
    site.policy = "maximum_moves: 1"
    with site.agent() as (watch, ledger):
        first = site.approved(watch, ledger)
        watch.act()
        (helped,) = settled(site, watch)
        second = site.approved(watch, ledger)
        watch.act()
        (outcome,) = settled(site, watch, minutes=60)  # it saves a twentieth: the first looks cannot tell
    assert first != second
    assert outcome.wait_per_transaction_before == pytest.approx(helped.wait_per_transaction_after, rel=0.02)
