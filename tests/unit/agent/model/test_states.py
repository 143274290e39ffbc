"""The life of a move: the table that the ledger obeys."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.model import states
from agent.model.states import ARROWS, TRANSITIONS, UNFINISHED, IllegalTransition, MoveState, check_transition

AGENT = Path(states.__file__).parents[1]


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


def test_every_arrow_has_a_sentence_and_is_drawn() -> None:
    """Each arrow says in one sentence when it is taken, and the drawing names every state."""
    sentences = [sentence for arrows in ARROWS.values() for sentence in arrows.values()]
    assert all(each[0].isupper() and each.endswith(".") for each in sentences)
    assert states.__doc__ is not None
    assert [state for state in MoveState if state.name not in states.__doc__] == []


def test_a_move_is_proposed_under_way_or_ended() -> None:
    """The three sets share no state and leave none out."""
    parts = [{MoveState.PROPOSED}, states.UNDER_WAY, states.ENDED]
    assert set().union(*parts) == set(MoveState)
    assert sum(len(part) for part in parts) == len(MoveState)


def test_the_sets_agree_with_the_arrows() -> None:
    """What a set says of its states can be read off the table of arrows."""
    leads_to = {state: {before for before, after in TRANSITIONS.items() if state in after} for state in MoveState}
    assert leads_to[MoveState.UNDO_PROPOSED] == states.UNDOABLE
    assert leads_to[MoveState.EXPIRED] == states.EXPIRABLE
    # What a person carries out can be taken from nobody: it expires, or is seen where it belongs.
    assert set(states.STATE_WHEN_DROPPED) == states.EXPIRABLE - {MoveState.HANDED_OVER}
    assert all(after in TRANSITIONS[before] for before, after in states.STATE_WHEN_DROPPED.items())
    assert all(not TRANSITIONS[state] for state in states.NOT_CARRIED_OUT)
    assert not any(_reachable(state) & states.OUTSTANDING for state in states.CARRIED_OUT)


def test_what_is_outstanding_can_be_carried_out_or_not() -> None:
    """From every outstanding state a move can still arrive, and can still end without arriving."""
    for state in states.OUTSTANDING:
        assert _reachable(state) & states.IN_PLACE
        assert _reachable(state) & states.NOT_CARRIED_OUT


def _sets_of_states(path: Path) -> Iterator[str]:
    """Places of a module where two or more states are put into a set, list or tuple."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Set | ast.List | ast.Tuple):
            named = [ast.unparse(each) for each in node.elts]
            if sum(name.startswith(("MoveState.", "ProposalState.")) for name in named) > 1:
                yield f"{path.relative_to(AGENT)}:{node.lineno} {ast.unparse(node)}"


def test_states_are_classified_in_one_place() -> None:
    """No other module of the agent makes a set of states of its own."""
    modules = set(AGENT.rglob("*.py")) - {Path(states.__file__)}
    found = [place for path in sorted(modules) for place in _sets_of_states(path)]
    assert found == []
