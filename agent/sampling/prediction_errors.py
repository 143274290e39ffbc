"""Predictions next to what was measured, and how long moves kept others out.

Predictions next to what was measured: what outcomes teach of the error of the next one.

How long moves kept others out, read from the journal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, OutcomeRow, StepRow
from agent.model.outcomes import Outcome
from agent.model.proposals import ProposedMove
from agent.model.states import CARRIED_OUT
from connectors.model.moves import REJOIN, SPLIT, Locked
from policies.model.moves import Kind, Residual

REMEMBERED = 50  # outcomes, the newest
SURE = 1.645  # standard errors from the middle to either end of an interval that holds 90 %


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPrediction:
    """One proposal whose moves were measured, and predicted for gain."""

    proposal_id: int
    measured_at: datetime
    outcome: Outcome
    residual: Residual


def past_predictions(ledger: Ledger, database: str) -> Iterator[PastPrediction]:
    """The newest that tell something: undos and what was not measured for the same work are left out."""
    for row in ledger.moves.outcomes(database=database, limit=REMEMBERED):
        if _tells(row.outcome):
            moves = ledger.moves.rows(proposal_id=row.proposal_id, states=CARRIED_OUT)
            yield _past(row, moves, {each: found.outcome for each, found in _own(ledger, moves).items()})


def _own(ledger: Ledger, moves: Sequence[MoveRow]) -> dict[int, OutcomeRow]:
    return ledger.moves.outcomes_of([move.id for move in moves])


def _tells(outcome: Outcome) -> bool:
    known = not math.isnan(outcome.change) and not math.isnan(outcome.predicted_saved_ratio)
    return known and not outcome.undo


def _past(row: OutcomeRow, moves: Sequence[MoveRow], own: dict[int, Outcome]) -> PastPrediction:
    outcome = row.outcome
    ends = [math.log1p(end) for end in (outcome.change_low, outcome.change_high)]
    return PastPrediction(
        proposal_id=row.proposal_id,
        measured_at=row.at,
        outcome=outcome,
        residual=Residual(
            predicted=outcome.predicted_saved_ratio,
            measured=outcome.saved_ratio,
            measured_error=(ends[1] - ends[0]) / 2 / SURE,
            kinds=_kinds(moves, own),
        ),
    )


def _kinds(moves: Sequence[MoveRow], own: dict[int, Outcome]) -> dict[Kind, float]:
    """Kinds of moves with their shares of the effect; equal shares where these are not known."""
    shares: dict[Kind, float] = {}
    for row in moves:
        share = own[row.id].own_share if row.id in own else math.nan
        kind = row.move.route.bundle.kind.name.lower(), row.move.from_tier, row.move.to_tier
        shares[kind] = shares.get(kind, 0.0) + (1.0 if math.isnan(share) else share)
    total = sum(shares.values())
    return {kind: share / total for kind, share in shares.items()} if total > 0 else {}


def stalled_seconds(move: ProposedMove, steps: Sequence[StepRow]) -> float | None:
    """The longest time in which its lock, or the wait for it, kept others out: that of a statement, by the journal.

    None where it blocks other sessions only for a moment, or the end of none of its statements was seen.
    """
    # What comes after the transaction of a split, or of its way back, locks no one out.
    under_lock = steps if move.route.name not in {SPLIT, REJOIN} else [step for step in steps if step.ordinal == 1]
    took = [(step.ended_at - step.intended_at).total_seconds() for step in under_lock if step.ended_at is not None]
    return max(took, default=None) if move.route.locked in {Locked.WRITES, Locked.ALL} else None
