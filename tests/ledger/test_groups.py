"""Groups in the ledger: what makes room and what it makes room for are dropped together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.ledger.errors import WrongState
from agent.ledger.ledger import Ledger
from agent.ledger.rows import RequestKind, first_dropped, groups_of, left_worse
from agent.model.proposals import ProposedMove, grouped, proposal_from_text, proposal_text
from agent.model.states import MoveState, ProposalState
from tests.unit.samples import a_move, a_proposal

WHO: dict[str, Any] = {"who": "anna", "origin": "terminal"}


def down(ordinal: int, group: int | None) -> ProposedMove:
    """A cold table that gives way."""
    return a_move(
        ordinal, key=f"public.cold{ordinal}", reason="make_room", group=group, wait_saved_per_hour=-10.0,
        from_space="fast", to_space="slow", from_tier="ssd", to_tier="hdd",
    )  # fmt: skip


def up(ordinal: int, group: int | None) -> ProposedMove:
    """A hot one that comes."""
    return a_move(ordinal, key=f"public.hot{ordinal}", group=group)


def moves(*, numbered: bool = True) -> tuple[ProposedMove, ...]:
    """Two that give way to a third, and another group of two."""
    one, two = (1, 2) if numbered else (None, None)
    return down(1, one), down(2, one), up(3, one), down(4, two), up(5, two)


def stored(ledger: Ledger, *, approve: bool = False, numbered: bool = True) -> int:
    """A proposal of both groups."""
    number = ledger.proposals.store(a_proposal(*moves(numbered=numbered)))
    if approve:
        ledger.proposals.approve(number, **WHO, digest=ledger.proposals.row(number).digest)
    return number


def states(ledger: Ledger, number: int) -> list[MoveState]:
    """Of its moves, in order."""
    return [row.state for row in ledger.moves.rows(proposal_id=number)]


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("ordinal", [1, 3])
@pytest.mark.parametrize("approve", [True, False])
def test_striking_a_move_strikes_its_group(ledger: Ledger, ordinal: int, approve: bool, numbered: bool) -> None:
    """What it is for, and what makes room for it, in proposals that were stored before groups had numbers too."""
    number = stored(ledger, approve=approve, numbered=numbered)
    struck = ledger.proposals.strike(number, ordinal, **WHO, reason="not this one")
    to, other = (
        (MoveState.CANCELLED, MoveState.APPROVED) if approve else (MoveState.REJECTED, MoveState.PROPOSED)
    )  # fmt: skip
    assert states(ledger, number) == [to, to, to, other, other]
    assert struck[0].move.ordinal == ordinal
    assert sorted(row.move.ordinal for row in struck) == [1, 2, 3]
    assert struck[0].reason == "not this one"
    assert f"dropped with move {ordinal} (" in struck[1].reason
    assert [row.event for row in ledger.audit.rows(3)] == ["move.struck"] * 3


def test_striking_every_group_ends_the_proposal(ledger: Ledger) -> None:
    """Two strikes are enough for five moves."""
    number = stored(ledger)
    for ordinal in (2, 5):
        ledger.proposals.strike(number, ordinal, **WHO, reason="no")
    assert ledger.proposals.row(number).state is ProposalState.REJECTED


def test_cancelling_an_approved_move_cancels_its_group(ledger: Ledger) -> None:
    """At once, in one transaction, and the answer says what went with it."""
    number = stored(ledger, approve=True)
    end = ledger.moves.rows(proposal_id=number)[2]
    ask = ledger.requests.submit(end.id, RequestKind.CANCEL, **WHO, reason="wrong week")
    assert states(ledger, number) == [MoveState.CANCELLED] * 3 + [MoveState.APPROVED] * 2
    assert ask.answer == "it had not begun; with it move 1, 2 of its group"
    assert ledger.audit.verify().ok


def test_what_runs_of_a_cancelled_group_is_asked_to_stop(ledger: Ledger) -> None:
    """It would make room in vain."""
    number = stored(ledger, approve=True)
    first, _, end, *_ = ledger.moves.rows(proposal_id=number)
    ledger.moves.transition(first.id, MoveState.PRECHECK, "go")
    ledger.moves.transition(first.id, MoveState.RUNNING, "go")
    ledger.requests.submit(end.id, RequestKind.CANCEL, **WHO, reason="wrong week")
    assert [state.value for state in states(ledger, number)[:3]] == ["running", "cancelled", "cancelled"]
    asked = ledger.requests.in_force("shop")[first.id]
    assert (asked.kind, asked.who) == (RequestKind.CANCEL, "anna")
    assert "move 3 of its group was cancelled by anna: wrong week" in asked.reason
    with pytest.raises(WrongState):
        ledger.proposals.strike(number, 1, **WHO, reason="too late")


def test_what_is_being_cancelled_is_not_asked_again(ledger: Ledger) -> None:
    """Whoever asked first waits for the answer, and only the newest request of a move is answered."""
    number = stored(ledger, approve=True)
    first, _, end, *_ = ledger.moves.rows(proposal_id=number)
    ledger.moves.transition(first.id, MoveState.PRECHECK, "go")
    ledger.moves.transition(first.id, MoveState.RUNNING, "go")
    asked = ledger.requests.submit(first.id, RequestKind.CANCEL, **WHO, reason="wrong week")
    ledger.requests.submit(end.id, RequestKind.CANCEL, **WHO, reason="wrong week")
    assert ledger.requests.of_move(first.id) == [asked]


def test_groups_by_number_and_by_reason() -> None:
    """Numbers count where there are any; without them what gives way belongs to what comes next."""
    for numbered in (True, False):
        found = [[move.ordinal for move in group] for group in grouped(moves(numbered=numbered))]
        assert found == [[1, 2, 3], [4, 5]]
    alone = [a_move(1), a_move(2), replace(a_move(3), reason="undo")]
    assert [len(group) for group in grouped(alone)] == [1, 1, 1]


def test_a_proposal_without_numbers_is_read_and_has_its_digest() -> None:
    """As an older version stored it: the text has no such field, and its digest is the one of the text."""
    proposal = a_proposal(*moves(numbered=False))
    text = proposal_text(proposal).replace('"group":null,', "")
    assert '"group"' not in text
    assert proposal_from_text(text) == proposal


def test_a_group_that_ended_halfway_is_worse_off(ledger: Ledger) -> None:
    """Only once nothing of it waits, and only where what was carried out loses more than it saves."""
    number = stored(ledger, approve=True)
    first, second, end, *_ = (row.id for row in ledger.moves.rows(proposal_id=number))

    def group() -> tuple[bool, bool]:
        one, other = groups_of(ledger.moves.rows(proposal_id=number))
        assert first_dropped(other) is None
        return first_dropped(one) is not None, left_worse(one)

    assert group() == (False, False)
    for move in (first, second):
        for state in (MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED):
            ledger.moves.transition(move, state, "")
    assert group() == (False, False)
    ledger.moves.transition(end, MoveState.SKIPPED, "no room")
    assert group() == (True, True)
    ledger.moves.transition(first, MoveState.UNDO_PROPOSED, "")
    assert group() == (True, True)
    for move in (first, second):
        if move == second:
            ledger.moves.transition(move, MoveState.UNDO_PROPOSED, "")
        ledger.moves.transition(move, MoveState.UNDONE, "")
    assert group() == (True, False)
