"""Proposals: stored once, decided by digest and in time, never changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.ledger.errors import DigestMismatch, NotFound, ProposalExpired, ProposalTampered, Refused, WrongState
from agent.ledger.ledger import Ledger
from agent.model.proposals import Proposal, proposal_from_text, proposal_text, purpose_of_undo
from agent.model.states import MoveState, ProposalState
from tests.ledger.clock import StillClock
from tests.ledger.conftest import DIGITS, Tamper, approved, stored
from tests.unit.samples import MIB, a_move, a_proposal

WHO: dict[str, Any] = {"who": "anna", "origin": "terminal"}


def _states(ledger: Ledger, number: int) -> list[MoveState]:
    return [row.state for row in ledger.moves.rows(proposal_id=number)]


def test_a_proposal_comes_back_as_it_was(ledger: Ledger) -> None:
    """Text, numbers, statements, odd names: equal, with the same digest, waiting for a decision."""
    proposal = a_proposal(a_move(1, key='öd"d. näme/\U0001f600'), a_move(2, payback_seconds=None), ceiling_ratio=None)
    row = ledger.proposals.row(ledger.proposals.store(proposal))
    assert (row.proposal, row.digest, row.state) == (proposal, proposal.digest, ProposalState.PROPOSED)
    assert (row.decided_at, row.decided_by, row.decided_from) == (None, "", "")
    assert [move.move for move in ledger.moves.rows(proposal_id=row.id)] == list(proposal.moves)


def test_the_same_work_is_stored_once(ledger: Ledger) -> None:
    """Figures that moved a little since do not make a new proposal; what is shown stays what was stored."""
    first = a_proposal(a_move(1))
    number = ledger.proposals.store(first)
    again = a_proposal(a_move(1, wait_saved_per_hour=901.0), expires_at=first.expires_at + timedelta(hours=1))
    assert ledger.proposals.store(again) == number
    assert ledger.proposals.row(number).proposal == first
    assert len(ledger.proposals.rows()) == 1


def test_what_outgrows_a_proposal_before_it_ends_is_proposed_again(ledger: Ledger) -> None:
    """The same statements once more, with a limit that will hold; approved, a proposal stays as it is."""
    small = a_proposal(a_move(size_bytes=10 * MIB, expected_bytes=11 * MIB, limit_bytes=14 * MIB))
    grown = a_proposal(a_move(size_bytes=12 * MIB, expected_bytes=14 * MIB, limit_bytes=20 * MIB))
    beyond = a_proposal(a_move(size_bytes=13 * MIB, expected_bytes=15 * MIB, limit_bytes=20 * MIB))
    first = ledger.proposals.store(small)
    assert ledger.proposals.store(grown) == first
    second = ledger.proposals.store(beyond)
    assert second != first
    assert ledger.proposals.row(first).state is ProposalState.SUPERSEDED
    ledger.proposals.approve(second, **WHO, digest=ledger.proposals.row(second).digest)
    much = a_proposal(a_move(size_bytes=40 * MIB))
    assert ledger.proposals.store(much) == second


def test_the_same_work_is_not_proposed_again_while_approved(ledger: Ledger) -> None:
    """A plan made between the approval and the move says nothing new."""
    number = approved(ledger)
    assert stored(ledger) == number


def test_the_undo_of_other_moves_is_another_proposal(ledger: Ledger) -> None:
    """The same statements take back what moved again since: an undo that has run already does not stand for it."""

    def undo(*moves: int) -> Proposal:
        return a_proposal(a_move(1), purpose=purpose_of_undo(moves), asked_by="ann")

    first = ledger.proposals.store(undo(1))
    ledger.proposals.approve(first, who="ann", origin="terminal", digest=ledger.proposals.row(first).digest)
    assert ledger.proposals.store(undo(1)) == first
    assert ledger.proposals.store(undo(3)) != first


def test_the_same_work_is_proposed_again_after_a_refusal_or_expiry(ledger: Ledger, clock: StillClock) -> None:
    """A decided or expired proposal does not stand in the way of a new one."""
    first = stored(ledger)
    ledger.proposals.reject(first, **WHO, reason="not today")
    second = stored(ledger)
    clock.sleep(86400)
    fresh = replace(ledger.proposals.row(second).proposal, expires_at=clock.now() + timedelta(days=1))
    third = ledger.proposals.store(fresh)
    assert first < second < third
    assert ledger.proposals.row(second).state is ProposalState.EXPIRED


def test_other_work_supersedes_what_waits_for_that_database(ledger: Ledger) -> None:
    """Undecided ones of the same database only; the reason names the new one."""
    old, kept = stored(ledger), approved(ledger, 3)
    other = ledger.proposals.store(a_proposal(a_move(1), database="hr"))
    new = stored(ledger, 1)
    assert [ledger.proposals.row(n).state for n in (old, kept, other, new)] == [
        ProposalState.SUPERSEDED, ProposalState.APPROVED, ProposalState.PROPOSED, ProposalState.PROPOSED,
    ]  # fmt: skip
    assert set(_states(ledger, old)) == {MoveState.SUPERSEDED}
    assert str(kept) in ledger.proposals.row(old).reason


def open_after(ledger: Ledger, *proposals: Proposal) -> list[Proposal]:
    """Which of them wait for a decision once all were stored, the oldest first."""
    for proposal in proposals:
        ledger.proposals.store(proposal)
    return [row.proposal for row in reversed(ledger.proposals.rows(states={ProposalState.PROPOSED}))]


def of(key: str, **changes: Any) -> Proposal:
    """A proposal of one move of that unit."""
    return a_proposal(a_move(1, key=key), **changes)


def test_another_question_supersedes_nothing(ledger: Ledger) -> None:
    """The next plan of the agent leaves a drain alone, and a drain leaves that plan and other drains alone."""
    plan, drain, other = of("a"), of("b", purpose="drain old", asked_by="anna"), of("c", purpose="drain older")
    newer = of("d")
    assert open_after(ledger, plan, drain, other, newer) == [drain, other, newer]


def test_only_people_supersede_what_people_asked_for(ledger: Ledger) -> None:
    """Asked again with another answer, by whomever, the newest stands; the agent's own never takes its place."""
    asked, own, again = of("a", asked_by="anna"), of("b"), of("c", asked_by="ben")
    assert open_after(ledger, asked, own) == [asked, own]
    assert open_after(ledger, again) == [again]


def test_what_the_agent_proposed_stays_once_somebody_asks_for_it(ledger: Ledger) -> None:
    """The same work asked for is a proposal of its own; asked for once more, or planned again, it is that one."""
    own, asked = of("a"), of("a", asked_by="anna")
    first, second = ledger.proposals.store(own), ledger.proposals.store(asked)
    assert ledger.proposals.row(first).state is ProposalState.SUPERSEDED
    assert {ledger.proposals.store(again) for again in (own, asked, of("a", asked_by="ben"))} == {second}
    assert open_after(ledger, of("b")) == [asked, of("b")]


def test_what_has_lost_its_basis_is_ended(ledger: Ledger) -> None:
    """With the reason and in the audit, as long as nobody has decided; what is approved has prechecks for that."""
    waiting, kept = ledger.proposals.store(of("b", purpose="drain old")), approved(ledger)
    for number in (waiting, kept, waiting):
        ledger.proposals.end(number, "b is gone")
    assert [ledger.proposals.row(number).state for number in (waiting, kept)] == [
        ProposalState.SUPERSEDED, ProposalState.APPROVED,
    ]  # fmt: skip
    assert _states(ledger, waiting) == [MoveState.SUPERSEDED]
    assert (ledger.audit.rows(1)[0].event, ledger.audit.rows(1)[0].facts) == (
        "proposal.superseded",
        {"reason": "b is gone"},
    )


def test_what_older_versions_stored_was_the_agents_own(ledger: Ledger) -> None:
    """A stored text without purpose and asker reads as a plan that the agent made by itself."""
    plain = json.loads(proposal_text(of("a")))
    del plain["purpose"], plain["asked_by"]
    assert proposal_from_text(json.dumps(plain)) == of("a")


def test_a_proposal_needs_moves_with_different_numbers(ledger: Ledger) -> None:
    """Nothing to do, or two moves by one number, is nobody's proposal."""
    for moves in ((), (a_move(1), a_move(1))):
        with pytest.raises(ValueError, match="different ordinals"):
            ledger.proposals.store(a_proposal(*moves))


def test_lists_filter_and_show_the_newest_first(ledger: Ledger) -> None:
    """By database, state and number."""
    numbers = [stored(ledger, moves) for moves in (1, 2, 3)]
    ledger.proposals.store(a_proposal(a_move(1), database="hr"))
    assert [row.id for row in ledger.proposals.rows(database="shop")] == numbers[::-1]
    assert [row.id for row in ledger.proposals.rows(database="shop", states={ProposalState.PROPOSED})] == numbers[-1:]


@pytest.mark.parametrize("length", [DIGITS, 20, 64])
def test_approval_names_the_digest(ledger: Ledger, clock: StillClock, length: int) -> None:
    """Whole or its first characters; who, when, why and from where are kept; every move is approved."""
    number = stored(ledger)
    digest = ledger.proposals.row(number).digest
    row = ledger.proposals.approve(number, **WHO, digest=f" {digest[:length].upper()} ", reason="looks right")
    assert (row.state, row.decided_at) == (ProposalState.APPROVED, clock.now())
    assert (row.decided_by, row.decided_from) == ("anna", "terminal")
    assert set(_states(ledger, number)) == {MoveState.APPROVED}
    assert all(move.approved and move.digest == digest for move in ledger.moves.rows(proposal_id=number))
    audit = ledger.audit.rows(1)[0]
    assert audit.event == "proposal.approved"
    assert audit.facts == {**WHO, "digest": digest, "reason": "looks right", "moves": [1, 2]}


@pytest.mark.parametrize("digest", ["", "0" * 64, "short"])
def test_another_digest_approves_nothing(ledger: Ledger, digest: str) -> None:
    """Nor does the right one cut too short."""
    number = stored(ledger)
    for wrong in (digest, ledger.proposals.row(number).digest[: DIGITS - 1]):
        with pytest.raises(DigestMismatch, match=f"proposal {number}"):
            ledger.proposals.approve(number, **WHO, digest=wrong)
    assert set(_states(ledger, number)) == {MoveState.PROPOSED}
    assert not any(move.approved for move in ledger.moves.rows(proposal_id=number))


def test_too_late_is_too_late(ledger: Ledger, clock: StillClock) -> None:
    """At the moment of expiry an approval is refused, and the proposal is marked expired with all its moves."""
    number = stored(ledger)
    digest = ledger.proposals.row(number).digest
    clock.sleep(86400)
    for _ in range(2):
        with pytest.raises(ProposalExpired, match=f"proposal {number}"):
            ledger.proposals.approve(number, **WHO, digest=digest)
    assert ledger.proposals.row(number).state is ProposalState.EXPIRED
    assert set(_states(ledger, number)) == {MoveState.EXPIRED}


def test_a_decision_is_taken_once(ledger: Ledger) -> None:
    """Approved, rejected or superseded: nobody decides again."""
    first = approved(ledger)
    digest = ledger.proposals.row(first).digest
    with pytest.raises(WrongState, match="approved"):
        ledger.proposals.approve(first, **WHO, digest=digest)
    with pytest.raises(WrongState, match="approved"):
        ledger.proposals.reject(first, **WHO, reason="too late")


def test_rejecting_ends_every_move(ledger: Ledger) -> None:
    """With the reason, and in the audit."""
    number = stored(ledger)
    row = ledger.proposals.reject(number, **WHO, reason="month end")
    assert (row.state, row.reason) == (ProposalState.REJECTED, "month end")
    assert (row.decided_by, row.decided_from) == ("anna", "terminal")
    assert {(move.state, move.reason) for move in ledger.moves.rows(proposal_id=number)} == {
        (MoveState.REJECTED, "month end")
    }
    assert ledger.audit.rows(1)[0].facts["reason"] == "month end"


def test_an_approval_covers_what_was_not_struck(ledger: Ledger) -> None:
    """The digest stays that of the whole; the struck move never runs."""
    number = stored(ledger, 3)
    digest = ledger.proposals.row(number).digest
    (struck,) = ledger.proposals.strike(number, 2, **WHO, reason="not this one")
    assert (struck.state, struck.reason) == (MoveState.REJECTED, "not this one")
    assert ledger.proposals.approve(number, **WHO, digest=digest).digest == digest
    assert _states(ledger, number) == [MoveState.APPROVED, MoveState.REJECTED, MoveState.APPROVED]
    assert ledger.audit.rows(1)[0].facts["moves"] == [1, 3]


def test_a_move_is_struck_until_it_begins(ledger: Ledger) -> None:
    """Approved moves are cancelled; one that runs is not struck; one that is not there is not found."""
    number = approved(ledger)
    assert ledger.proposals.strike(number, 1, **WHO, reason="changed my mind")[0].state is MoveState.CANCELLED
    second = ledger.moves.rows(proposal_id=number)[1]
    ledger.moves.transition(second.id, MoveState.PRECHECK, "go")
    with pytest.raises(WrongState, match="precheck"):
        ledger.proposals.strike(number, 2, **WHO, reason="too late")
    with pytest.raises(NotFound, match="no move 3"):
        ledger.proposals.strike(number, 3, **WHO, reason="none")


@pytest.mark.parametrize(("approve", "ends"), [(False, ProposalState.REJECTED), (True, ProposalState.FINISHED)])
def test_striking_all_ends_the_proposal(ledger: Ledger, approve: bool, ends: ProposalState) -> None:
    """Nothing is left to decide or to do."""
    number = approved(ledger) if approve else stored(ledger)
    for ordinal in (1, 2):
        ledger.proposals.strike(number, ordinal, **WHO, reason="no")
    assert ledger.proposals.row(number).state is ends


def test_what_nobody_began_expires(ledger: Ledger, clock: StillClock) -> None:
    """Waiting ones as a whole, approved ones move by move; what runs goes on; nothing happens before the time."""
    number = approved(ledger)
    first = ledger.moves.rows(proposal_id=number)[0]
    waiting = ledger.proposals.store(a_proposal(a_move(1), database="hr"))
    ledger.moves.transition(first.id, MoveState.PRECHECK, "go")
    clock.sleep(86399)
    assert ledger.proposals.expire_due() == 0
    clock.sleep(1)
    assert ledger.proposals.expire_due() == 2
    assert ledger.proposals.expire_due() == 0
    assert _states(ledger, number) == [MoveState.PRECHECK, MoveState.EXPIRED]
    assert ledger.proposals.row(number).state is ProposalState.APPROVED
    assert ledger.proposals.row(waiting).state is ProposalState.EXPIRED


def test_an_approved_proposal_that_nobody_began_is_finished_by_its_expiry(ledger: Ledger, clock: StillClock) -> None:
    """All its moves have ended."""
    number = approved(ledger)
    clock.sleep(86400)
    assert ledger.proposals.expire_due() == 2
    assert ledger.proposals.row(number).state is ProposalState.FINISHED


def test_an_edited_proposal_is_never_used(ledger: Ledger, tamper: Tamper) -> None:
    """Shown, listed, approved, run: each refuses, and names it."""
    number = approved(ledger)
    move = ledger.moves.rows(proposal_id=number)[0]
    assert tamper("UPDATE proposals SET body = replace(body, 'SET TABLESPACE fast', 'SET TABLESPACE evil')") == 1
    calls: list[Callable[[], object]] = [
        lambda: ledger.proposals.row(number),
        lambda: ledger.proposals.rows(),
        lambda: ledger.moves.rows(states={MoveState.APPROVED}),
        lambda: ledger.moves.row(move.id),
        lambda: ledger.moves.transition(move.id, MoveState.PRECHECK, "go"),
        lambda: ledger.proposals.reject(number, **WHO, reason="no"),
    ]
    for call in calls:
        with pytest.raises(ProposalTampered, match=f"proposal {number}"):
            call()


def test_an_edited_proposal_still_expires(ledger: Ledger, clock: StillClock, tamper: Tamper) -> None:
    """It does not hold up the others."""
    stored(ledger)
    tamper("UPDATE proposals SET body = body || ' '")
    clock.sleep(86400)
    assert ledger.proposals.expire_due() == 2


def test_a_forged_state_is_no_approval(ledger: Ledger, tamper: Tamper) -> None:
    """Marking a move approved by hand does not make it approved, and it cannot begin."""
    number = stored(ledger)
    tamper("UPDATE moves SET state = 'approved'")
    move = ledger.moves.rows(proposal_id=number)[0]
    assert not move.approved
    with pytest.raises(Refused, match="never approved"):
        ledger.moves.transition(move.id, MoveState.PRECHECK, "go")


def test_what_is_not_there_is_not_found(ledger: Ledger) -> None:
    """By number, with the command that lists what there is."""
    with pytest.raises(NotFound, match="no proposal 7") as caught:
        ledger.proposals.row(7)
    assert "hotplace proposals" in caught.value.advice
    with pytest.raises(LookupError):
        ledger.proposals.approve(7, **WHO, digest="0" * 64)


@pytest.mark.parametrize(("who", "origin"), [("", "terminal"), ("anna", " ")])
def test_nobody_decides_anonymously(ledger: Ledger, who: str, origin: str) -> None:
    """Who and from where are part of a decision."""
    number = stored(ledger)
    with pytest.raises(ValueError, match="names who"):
        ledger.proposals.reject(number, who=who, origin=origin, reason="")
