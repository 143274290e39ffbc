"""What ``proposals`` and ``show`` answer."""

from __future__ import annotations

from datetime import datetime

from agent.answers.deciding import ConflictWith
from agent.answers.kind import answer
from agent.answers.plans import ForecastShown, PlannedMove, ValueOfPlan
from agent.answers.watching import MovesUnderWay
from agent.model.states import MoveState, ProposalState


@answer
class ProposalHead:
    """Who asked for a proposal, and what became of it."""

    id: int
    digest: str
    state: ProposalState
    reason: str | None
    purpose: str
    asked_by: str | None
    """Null: the agent made it."""
    decided_at: datetime | None
    decided_by: str | None
    decided_from: str | None
    created_at: datetime
    expires_at: datetime


@answer
class ProposalListed(ProposalHead):
    """A proposal in short."""

    moves: int
    bytes: int
    wait_saved_per_hour_seconds: float
    forecast: ForecastShown | None


@answer
class ConflictFound:
    """Open proposals that cannot all be carried out."""

    proposals: tuple[int, ...]
    why: str


@answer
class ProposalsListed:
    """Proposals of one database."""

    database: str
    proposals: tuple[ProposalListed, ...]
    conflicts: tuple[ConflictFound, ...]


@answer
class MoveProposed(PlannedMove):
    """A move of a proposal with its state."""

    id: int
    state: MoveState
    state_reason: str


@answer
class ProposalShown(ProposalHead, ValueOfPlan):
    """A proposal with its moves and their statements."""

    database: str
    moves: tuple[MoveProposed, ...]
    conflicts: tuple[ConflictWith, ...]


@answer
class ProposalWatched(ProposalShown, MovesUnderWay):
    """The same of a database that is configured, with what is true of its moves now."""
