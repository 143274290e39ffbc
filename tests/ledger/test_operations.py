"""What a step does is stored and hashed with it; proposals of before are read, checked, and run or expire."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.model.proposals import Proposal, proposal_from_text, proposal_text
from agent.model.states import MoveState, ProposalState
from connectors.model.moves import Operation
from tests.ledger.before_operations import all_steps, restore
from tests.ledger.clock import StillClock
from tests.unit.samples import a_move, a_proposal

ENGINES = ("db2", "oracle", "sqlserver")
DOES = Operation("db2.change_containers", {"space": "T S", "add": ("/a", "/b"), "drop": (), "size": 3, "last": True})


def with_operation(operation: Operation | None) -> Proposal:
    """A proposal whose only step does that."""
    move = a_move()
    steps = tuple(replace(step, operation=operation) for step in move.route.steps)
    return a_proposal(replace(move, route=replace(move.route, steps=steps)))


def test_an_operation_reads_back_as_it_was(ledger: Ledger) -> None:
    """Texts, lists, numbers and truths keep their types through the ledger."""
    number = ledger.proposals.store(with_operation(DOES))
    (move,) = ledger.proposals.row(number).proposal.moves
    found = move.route.steps[0].operation
    assert found == DOES
    assert {name: type(value) for name, value in found.parameters.items()} == {
        "space": str, "add": tuple, "drop": tuple, "size": int, "last": bool,
    }  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [None, Operation("db2.rebalance", DOES.parameters), Operation(DOES.name, {**DOES.parameters, "space": "T"})],
)
def test_the_digest_covers_what_a_step_does(other: Operation | None) -> None:
    """Nobody can approve one operation and have another carried out."""
    assert with_operation(other).digest != with_operation(DOES).digest


def test_a_proposal_of_before_is_still_approved(path: Path, clock: StillClock) -> None:
    """Read, checked against its digest and its approval, the audit chain whole; its moves may begin."""
    restore(path)
    with Ledger.open(path, clock, actor="test") as ledger:
        assert ledger.audit.verify().ok
        for engine in ENGINES:
            (row,) = ledger.proposals.rows(database=engine)
            moves = ledger.moves.rows(database=engine)
            assert row.state is ProposalState.APPROVED
            assert {(move.state, move.approved) for move in moves} == {(MoveState.APPROVED, True)}
            assert all(step.operation is None for move in moves for step in all_steps(move.move.route))
            assert proposal_from_text(proposal_text(row.proposal)) == row.proposal


def test_a_proposal_of_before_expires(path: Path, clock: StillClock) -> None:
    """A day later, as any other."""
    restore(path)
    clock.sleep(86401.0)
    with Ledger.open(path, clock, actor="test") as ledger:
        assert ledger.proposals.expire_due() > 0
        for engine in ENGINES:
            assert {move.state for move in ledger.moves.rows(database=engine)} == {MoveState.EXPIRED}
