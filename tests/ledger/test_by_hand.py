"""Moves that a person carries out: handed over with their approval, placed by the catalog, expired by time, no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.errors import NotApproved, Spoiled, Untrusted, WrongState
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, RequestKind, for_a_person
from agent.ledger.stored import FOR_A_PERSON, NOT_SEEN, load_move
from agent.model.approvals import Conditions, find_refusal
from agent.model.proposals import ProposedMove, proposal_from_text, proposal_json, proposal_text
from agent.model.signatures import Signers
from agent.model.states import TRANSITIONS, IllegalTransition, MoveState, ProposalState
from connectors.model.moves import ByHand
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Two, open_ledger
from tests.ledger.forger import Forged, Target, set_tables, write_row
from tests.ledger.test_forged import a_rule, forging, rows_of, sign
from tests.unit.samples import a_move, a_proposal

S = MoveState
HAND = ByHand(statements=("MOVE IT",), because="hotplace cannot", before=("FIRST",), after=("LAST",), undo=("BACK",))


def by_hand(ordinal: int = 1, key: str = "public.mine") -> ProposedMove:
    """A move that a person carries out."""
    move = a_move(ordinal, key=key)
    return replace(move, route=replace(move.route, prologue=(), steps=(), undo_steps=(), by_hand=HAND))


@pytest.fixture
def ledger(path: Path, clock: StillClock, signers: Signers) -> Iterator[Ledger]:
    """A file; its proposals are approved by one signature."""
    with open_ledger(path, path, clock, ApprovalRule(signers)) as opened:
        yield opened


def signed(ledger: Ledger, people: Two, *moves: ProposedMove) -> list[MoveRow]:
    """The moves of a proposal that a person has signed."""
    number = ledger.proposals.store(a_proposal(*moves))
    sign(ledger, number, people[0])
    return rows_of(ledger, number)


def test_the_state_has_one_arrow_in_and_two_out() -> None:
    """From its approval; to its place as the catalog shows it, or to the end of its time."""
    assert TRANSITIONS[S.HANDED_OVER] == {S.PLACED, S.EXPIRED}
    assert [state for state, after in TRANSITIONS.items() if S.HANDED_OVER in after] == [S.APPROVED]


def test_an_approval_hands_over_what_a_person_carries_out(ledger: Ledger, people: Two) -> None:
    """In the transaction of the approval, with a row of the chain each; the other moves wait for the agent."""
    mine, other = signed(ledger, people, by_hand(1), a_move(2))
    assert (mine.state, mine.reason, other.state) == (S.HANDED_OVER, FOR_A_PERSON, S.APPROVED)
    events = [(row.event, row.subject) for row in ledger.audit.rows(4)]
    assert (f"move.{S.HANDED_OVER}", f"move {mine.id}") in events
    ledger.moves.require_trust(mine, begins=False)
    assert ledger.audit.verify().ok


def test_what_waits_for_a_person_is_planned_around_with_it(ledger: Ledger, people: Two) -> None:
    """The handed-over moves and what comes after one in its group; not what comes before it, nor other groups."""
    first, hand, behind = (replace(a_move(n, key=f"public.t{n}"), group=1) for n in (1, 2, 3))
    hand = replace(hand, route=by_hand().route)
    rows = signed(ledger, people, first, hand, behind, replace(a_move(4, key="public.alone"), group=2))
    assert [row.move.ordinal for row in for_a_person(rows)] == [2, 3]
    assert for_a_person([row for row in rows if not row.move.by_hand]) == []


def test_the_digest_covers_what_a_person_is_given() -> None:
    """And a proposal without such moves has the text that it always had."""
    proposal = a_proposal(by_hand())
    assert proposal_from_text(proposal_text(proposal)) == proposal
    changed = replace(HAND, after=("ANOTHER",))
    move = replace(proposal.moves[0], route=replace(proposal.moves[0].route, by_hand=changed))
    assert replace(proposal, moves=(move,)).digest != proposal.digest
    assert "by_hand" not in proposal_json(a_proposal(a_move()))["moves"][0]["route"]


def test_no_statement_is_sent_of_it(ledger: Ledger, people: Two) -> None:
    """Not one of its own, not one of steps that it should not have, and it never begins."""
    with_steps = replace(by_hand(2, "public.steps"), route=replace(a_move().route, by_hand=HAND))
    for row in signed(ledger, people, by_hand(1), with_steps):
        for sql in ("MOVE IT", "FIRST", "BACK", *(step.sql for step in row.move.route.steps)):
            with pytest.raises(NotApproved, match="no approval covers"):
                ledger.moves.step_intent(row.id, 1, sql)
        for state in set(S) - TRANSITIONS[S.HANDED_OVER]:
            with pytest.raises(IllegalTransition):
                ledger.moves.transition(row.id, state, "test")


def test_what_hotplace_sends_is_not_handed_over(ledger: Ledger, people: Two) -> None:
    """The arrow is for moves by hand alone."""
    (row,) = signed(ledger, people, a_move())
    with pytest.raises(IllegalTransition, match="none that a person carries out"):
        ledger.moves.transition(row.id, S.HANDED_OVER, "test")


def test_time_ends_it(ledger: Ledger, people: Two, clock: StillClock) -> None:
    """What the catalog did not show in time; the reason says so, and the proposal is finished."""
    mine, other = signed(ledger, people, by_hand(1), a_move(2))
    clock.sleep(2 * 86_400)
    assert ledger.proposals.expire_due() == 2
    rows = rows_of(ledger, mine.proposal_id)
    assert [(row.state, row.reason) for row in rows] == [(S.EXPIRED, NOT_SEEN), (S.EXPIRED, "not begun in time")]
    assert ledger.proposals.row(other.proposal_id).state is ProposalState.FINISHED
    assert ledger.audit.verify().ok


def test_a_person_cannot_be_paused(ledger: Ledger, people: Two) -> None:
    """What is handed over is neither cancelled, paused nor struck: the refusal says until when it is looked for."""
    (row,) = signed(ledger, people, by_hand())
    for kind in RequestKind:
        with pytest.raises(WrongState, match="a person carries move"):
            ledger.requests.submit(row.id, kind, who="anna", origin="tty", reason="")
    with pytest.raises(WrongState, match="is handed over and can no longer be struck"):
        ledger.proposals.strike(row.proposal_id, 1, who="anna", origin="tty", reason="")


def test_it_is_held_to_no_condition_but_the_stall(path: Path, clock: StillClock) -> None:
    """Of the moves that hotplace sends; once the moves by hand are struck, to any condition."""
    with open_ledger(path, path, clock, ApprovalRule()) as ledger:
        number = ledger.proposals.store(a_proposal(by_hand(1), a_move(2)))

        def approve(conditions: Conditions) -> ProposalState:
            digest = ledger.proposals.row(number).digest
            return ledger.proposals.approve(
                number, who="anna", origin="tty", digest=digest, conditions=conditions
            ).state

        with pytest.raises(WrongState, match="no condition but --stall"):
            approve(Conditions(most_bytes=1 << 40))
        ledger.proposals.strike(number, 1, who="anna", origin="tty", reason="")
        assert approve(Conditions(most_bytes=1 << 40)) is ProposalState.APPROVED
        number = ledger.proposals.store(a_proposal(by_hand(1), a_move(2, key="public.other")))
        assert approve(Conditions(most_stall_seconds=60.0)) is ProposalState.APPROVED


def test_no_standing_rule_covers_it(ledger: Ledger) -> None:
    """There is nobody to hand it to."""
    rule, at = a_rule(ledger), ledger._clock.now()
    assert (
        find_refusal(rule, a_proposal(by_hand(), wait_saved_low_per_hour=1.0), at)
        == "public.mine is moved by a person, so a person decides"
    )


def test_no_condition_and_no_turn_is_promised_of_a_person(ledger: Ledger, people: Two) -> None:
    """Hotplace could keep neither: refused when it is approved, alone or in a list behind another proposal."""
    number = ledger.proposals.store(a_proposal(by_hand()))
    digest = ledger.proposals.row(number).digest
    with pytest.raises(WrongState, match="to no condition but --stall, and no turn"):
        ledger.proposals.approve(
            number, who="anna", origin="tty", digest=digest, conditions=Conditions(most_bytes=1 << 30)
        )
    first = ledger.proposals.store(a_proposal(a_move(key="public.other"), purpose="usage"))
    with pytest.raises(WrongState, match="to no condition but --stall, and no turn"):
        ledger.lists.document([first, number], [first])
    sign(ledger, number, people[0])
    assert rows_of(ledger, number)[0].state is S.HANDED_OVER


# -- forged rows -----------------------------------------------------------------------------------------------------


def _row(move: MoveRow, to: MoveState, was: MoveState) -> Forged:
    return Forged(f"move.{to}", f"move {move.id}", {"was": was, "reason": "", "digest": move.digest})


def believed(ledger: Ledger, transaction: object, move: MoveRow) -> bool:
    """Whether a move would be measured, or a statement of it sent."""
    try:
        ledger._trust.require(transaction, load_move(transaction, move.id), begins=False)  # type: ignore[arg-type]
    except Untrusted:
        return False
    return True


@contextmanager
def forged(ledger: Ledger, move: MoveRow, state: MoveState, *rows: Forged) -> Iterator[object]:
    """A ledger with these rows more, whose tables say that the proposal is approved and the move in that state."""
    with forging(ledger) as transaction:
        for row in rows:
            write_row(transaction, row, ledger._clock.now())
        set_tables(transaction, Target(move.proposal_id, move.digest, [move]), state)
        yield transaction


@pytest.mark.parametrize("was", [S.PROPOSED, S.APPROVED])
def test_a_forged_hand_over_of_what_nobody_approved_gains_nothing(ledger: Ledger, was: MoveState) -> None:
    """Without an approval, or with one that nobody signed, it is not believed in that state nor in its target."""
    number = ledger.proposals.store(a_proposal(by_hand()))
    (move,) = rows_of(ledger, number)
    facts = {"who": "x", "origin": "y", "reason": "", "digest": move.digest, "moves": [1]}
    approval = Forged("proposal.approved", f"proposal {number}", facts)
    over, placed = _row(move, S.HANDED_OVER, was), _row(move, S.PLACED, S.HANDED_OVER)
    for rows in ((over,), (approval, over)):
        with forged(ledger, move, S.HANDED_OVER, *rows) as transaction:
            assert not believed(ledger, transaction, move)
        with forged(ledger, move, S.PLACED, *rows, placed) as transaction:
            assert not believed(ledger, transaction, move)


def test_a_forged_hand_over_of_what_hotplace_sends_spoils_it(ledger: Ledger, people: Two) -> None:
    """An approved move that is marked so, and all that could follow it: nothing of it is believed any more."""
    (move,) = signed(ledger, people, a_move())
    over = _row(move, S.HANDED_OVER, S.APPROVED)
    placed, undo = _row(move, S.PLACED, S.HANDED_OVER), _row(move, S.UNDO_PROPOSED, S.PLACED)
    for state, rows in ((S.HANDED_OVER, [over]), (S.PLACED, [over, placed]), (S.UNDO_PROPOSED, [over, placed, undo])):
        with forged(ledger, move, state, *rows) as transaction:
            assert not believed(ledger, transaction, move), state
    with forged(ledger, move, S.APPROVED) as transaction:
        assert believed(ledger, transaction, move)


@pytest.mark.parametrize("state", [S.APPROVED, S.PRECHECK, S.RUNNING, S.UNKNOWN, S.CANCELLED])
def test_a_forger_cannot_begin_what_was_handed_over(ledger: Ledger, people: Two, state: MoveState) -> None:
    """No arrow leads there, and a move by hand that runs is none."""
    (move,) = signed(ledger, people, by_hand())
    with forged(ledger, move, state, _row(move, state, S.HANDED_OVER)) as transaction:
        assert not believed(ledger, transaction, move)
    with forged(ledger, move, state, _row(move, state, S.APPROVED)) as transaction:
        assert not believed(ledger, transaction, move)
    with forged(ledger, move, S.HANDED_OVER) as transaction:
        assert believed(ledger, transaction, move)


def test_what_has_expired_is_not_handed_over_again(ledger: Ledger, people: Two) -> None:
    """Time has ended it, and what has ended stays ended."""
    (move,) = signed(ledger, people, by_hand())
    ledger._clock.sleep(timedelta(days=2).total_seconds())
    ledger.proposals.expire_due()
    for was in (S.EXPIRED, S.APPROVED):
        with forged(ledger, move, S.HANDED_OVER, _row(move, S.HANDED_OVER, was)) as transaction:
            assert not believed(ledger, transaction, move)
    with pytest.raises(Spoiled), forged(ledger, move, S.PLACED) as transaction:
        ledger._trust.require(transaction, load_move(transaction, move.id), begins=False)  # type: ignore[arg-type]
