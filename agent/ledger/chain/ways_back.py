"""Whether the approval of a group covers a move that takes a part of the group back."""

from __future__ import annotations

from agent.ledger.rows import MoveRow
from agent.model.proposals import ProposedMove


def way_back_fault(move: ProposedMove, done: MoveRow | None) -> str:
    """Why the approval of the move that it takes back does not cover a move; "" where it does.

    Args:
        move: which takes another one back.
        done: that other one; None: there is none.
    """
    if done is None or not done.approved or not done.move.goes_back:
        return f"no approval covers a way back of {move.key}"
    shown, now = done.move.route, move.route
    # Equal statement by statement: nobody looks at a way back again, so it may only be what the approval of its group
    # has shown.
    if (now.steps, now.tidy_steps, now.prologue) != (shown.undo_steps, shown.tidy_steps, shown.prologue):
        return f"the way back of move {done.id} is not the one that was approved"
    if now.patient_prologue != shown.patient_prologue:
        return f"the way back of move {done.id} has other settings than were approved"
    if (move.key, move.from_space, move.to_space) != (done.move.key, done.move.to_space, done.move.from_space):
        return f"the way back of move {done.id} leads from {done.move.to_space} to {done.move.from_space}"
    return ""
