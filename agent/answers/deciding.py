"""What ``approve``, ``reject`` and ``strike`` answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from agent.answers.kind import answer
from agent.model.states import MoveState, ProposalState


@answer
class ProposalDecided:
    """A proposal after a decision."""

    proposal: int
    database: str
    digest: str
    state: ProposalState
    expires_at: datetime


@answer
class ConflictWith:
    """Another open proposal that cannot be carried out as well."""

    with_: int
    """Its number."""
    why: str


@answer
class ProposalApproved(ProposalDecided):
    """A proposal that is approved."""

    who: str
    conditions: Mapping[str, int | float | str]
    """Under which it is approved: most_bytes, not_after, least_gain_per_hour."""
    origin: str
    conflicts: tuple[ConflictWith, ...]
    next: str
    """Who carries it out, and when."""


@answer
class ProposalSigned(ProposalDecided):
    """A proposal that some of the people have signed who are needed."""

    signed_by: tuple[str, ...]
    needed: int


@answer
class ApprovalToSign:
    """What a person signs to approve a proposal."""

    proposal: int
    document: str
    """The text, to the byte."""
    namespace: str
    """For ssh-keygen -Y sign -n."""
    signed_by: tuple[str, ...]
    needed: int


@answer
class ProposalRejected(ProposalDecided):
    """A proposal that is rejected."""

    who: str
    origin: str


@answer
class StruckMove:
    """A move that was struck."""

    ordinal: int
    unit: str
    state: MoveState
    reason: str


@answer
class MoveStruck(ProposalDecided):
    """A proposal of which a move was struck."""

    struck: StruckMove
    struck_with_it: tuple[StruckMove, ...]
    """The moves of its group that are worth it only with it."""
    who: str
    origin: str
