"""The life of a move: the table that the ledger obeys."""

from __future__ import annotations

import pytest

from agent.model.states import TRANSITIONS, UNFINISHED, IllegalTransition, MoveState, check_transition


def _reachable(start: MoveState) -> set[MoveState]:
    seen, todo = {start}, [start]
    while todo:
        for after in TRANSITIONS[todo.pop()] - seen:
            seen.add(after)
            todo.append(after)
    return seen


def test_every_state_has_a_row() -> None:
    """No state is missing from the table."""
    assert set(TRANSITIONS) == set(MoveState)


def test_every_state_can_be_reached_from_proposed() -> None:
    """No state is dead: each can come to be."""
    assert _reachable(MoveState.PROPOSED) == set(MoveState)


@pytest.mark.parametrize("state", sorted(UNFINISHED))
def test_unfinished_states_can_reach_a_final_one(state: MoveState) -> None:
    """Whatever a crash leaves, reconciliation can end it."""
    assert any(not TRANSITIONS[end] for end in _reachable(state))


def test_nothing_runs_that_was_not_approved() -> None:
    """The only way to RUNNING leads through APPROVED."""
    without_approval = {state: after - {MoveState.APPROVED} for state, after in TRANSITIONS.items()}
    seen, todo = {MoveState.PROPOSED}, [MoveState.PROPOSED]
    while todo:
        for after in without_approval[todo.pop()] - seen:
            seen.add(after)
            todo.append(after)
    assert MoveState.RUNNING not in seen


def test_an_illegal_change_is_refused_by_name() -> None:
    """The error names both states."""
    with pytest.raises(IllegalTransition, match="kept to running"):
        check_transition(MoveState.KEPT, MoveState.RUNNING)
