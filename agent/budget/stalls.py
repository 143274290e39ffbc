"""How long moves kept others out, read from the journal."""

from __future__ import annotations

from collections.abc import Sequence

from agent.ledger import StepRow
from agent.model.proposals import ProposedMove
from connectors.move_effects import Locked


def stalled_seconds(move: ProposedMove, steps: Sequence[StepRow]) -> float | None:
    """The longest time in which its lock, or the wait for it, kept others out: that of a statement, by the journal.

    None where it blocks other sessions only for a moment, or the end of none of its statements was seen.
    """
    took = [(step.ended_at - step.intended_at).total_seconds() for step in steps if step.ended_at is not None]
    return max(took, default=None) if move.route.locked in {Locked.WRITES, Locked.ALL} else None
