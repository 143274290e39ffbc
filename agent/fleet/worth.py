"""What proposals and outcomes are worth, without their statements: what lists of many databases are sorted by. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from agent.ledger.rows import OutcomeRow, ProposalRow
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import ProposalState

# Verdicts on which a person should look first.
ALARMING = (OutcomeVerdict.HURT, OutcomeVerdict.HURT_FOR_SOME)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalHead:
    """A proposal without its moves: thousands of them with all their statements would be much."""

    id: int
    database: str
    digest: str
    state: ProposalState
    purpose: str
    asked_by: str  # "": the agent made it
    decided_by: str  # "": not decided
    moves: int
    bytes: int
    saved_per_hour: float  # wait seconds
    created_at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, row: ProposalRow) -> Self:
        """The head of a stored proposal."""
        proposal = row.proposal
        return cls(
            id=row.id, database=proposal.database, digest=row.digest, state=row.state, purpose=proposal.purpose,
            asked_by=proposal.asked_by, decided_by=row.decided_by, moves=len(proposal.moves),
            bytes=proposal.bytes_moved, saved_per_hour=proposal.wait_saved_per_hour, created_at=proposal.created_at,
            expires_at=proposal.expires_at,
        )  # fmt: skip


def by_worth(heads: Iterable[ProposalHead]) -> list[ProposalHead]:
    """What waits for a decision first, and of that what saves most."""
    return sorted(heads, key=lambda head: (head.state is not ProposalState.PROPOSED, -head.saved_per_hour, head.id))


def measured_saved_per_hour(row: OutcomeRow) -> float:
    """Wait seconds per hour that moves saved as measured, from what was predicted; NaN where either is not known.

    What was predicted is a share of the wait before and the same in seconds, so both give the wait before, of which
    the measured share is taken.
    """
    outcome = row.outcome
    if not (outcome.measured and abs(outcome.predicted_saved_ratio) > 0):  # NaN: nothing was predicted
        return math.nan
    return outcome.predicted_wait_saved_per_hour / outcome.predicted_saved_ratio * outcome.saved_ratio


def by_effect(rows: Iterable[OutcomeRow]) -> list[OutcomeRow]:
    """What hurt first, then what saved most; what could not be measured is last."""

    def order(row: OutcomeRow) -> tuple[bool, float, int]:
        saved = measured_saved_per_hour(row)
        return row.outcome.verdict not in ALARMING, math.inf if math.isnan(saved) else -saved, -row.id

    return sorted(rows, key=order)
