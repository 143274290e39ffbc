"""What commands answer that list, decide and steer proposals, and that read the chain.

The answers stand in this order: ``approve``, ``reject``, ``strike`` and the lists of proposals; ``rules``, with limits
and what they approved; ``pause``, ``resume``, ``cancel``, ``stop``, ``close`` and ``reopen``; ``history --audit`` and
``audit verify``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agent.model.answers.kind import answer
from agent.model.answers.plans import ForecastShown, PlannedMove, ValueOfPlan
from agent.model.answers.watching import MoveHead, MovesUnderWay
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


@answer
class TemplateText:
    """A statement of a template, with ``{name}`` for each parameter."""

    role: str
    sql: str


@answer
class TemplateBound:
    """What a parameter of a template may be."""

    name: str
    kind: str
    """word, number or time."""
    least: int
    most: int


@answer
class TemplateShown:
    """Statements for partitions of one table."""

    kind: str
    table: str
    space: str
    from_space: str
    """Empty: the partition is made."""
    texts: tuple[TemplateText, ...]
    parameters: tuple[TemplateBound, ...]


@answer
class RuleLimits:
    """What proposals have to keep so that a rule approves them."""

    database: str
    fingerprint: str
    """Of the database, so that no other takes its place."""
    mode: str
    most_bytes: int
    most_stall_seconds: float
    least_gain_per_hour: float
    most_a_day: int
    time_zone: str
    units: tuple[str, ...]
    windows: tuple[str, ...]
    locks: str
    """none, brief or any."""
    expires_at: datetime
    template: TemplateShown | None
    """Null: the rule is about units."""


@answer
class RuleShown:
    """A standing rule."""

    rule: int
    state: str
    """proposed, open, closed or expired."""
    reason: str
    limits: RuleLimits
    proposed_by: str
    proposed_at: datetime
    signed_by: tuple[str, ...]
    used_today: int
    approved: tuple[int, ...]
    """Proposals."""


@answer
class RulesListed:
    """The standing rules, and whether they may approve anything."""

    level: str
    rules: tuple[RuleShown, ...]


@answer
class ProposalUncovered:
    """A proposal that waits, and why a rule does not approve it."""

    proposal: int
    why: str
    """Empty: the rule covers it, at level auto."""


@answer
class RuleExplained(RuleShown):
    """A rule with what waits."""

    waiting: tuple[ProposalUncovered, ...]
    unserved: str | None
    """What holds up what is due under its template, all of it or a part."""


@answer
class RuleToSign(RuleShown):
    """What a person signs to open a rule."""

    document: str
    """The text, to the byte."""
    namespace: str
    """For ssh-keygen -Y sign -n."""
    needed: int


@answer
class RuleSigned(RuleShown):
    """A rule with one signature more."""

    needed: int


@answer
class MoveAsked:
    """A move that was asked to pause, to go on or to give up."""

    move: int
    unit: str
    kind: str
    who: str | None
    at: datetime
    answer: str | None
    """What the daemon answered; null: nothing yet."""
    state: MoveState
    reason: str | None


@answer
class MovesAsked:
    """Moves that were asked to do something."""

    database: str | None
    """Null: of several databases."""
    asked: tuple[MoveAsked, ...]


@answer
class SendingStopped:
    """A stop that has begun, or was lifted."""

    stopped: bool
    """False: it was lifted."""
    databases: tuple[str, ...]
    """That it is about; `*`: all of the ledger."""
    running: tuple[MoveHead, ...]
    """Moves that still run although it has begun."""


@answer
class SpaceClosed:
    """A space that is closed to arrivals, or open to them again."""

    database: str
    space: str
    closed: bool
    changed: bool
    """Whether the command changed that."""


@answer
class AuditLink:
    """A link of the audit chain."""

    id: int
    at: datetime
    actor: str
    event: str
    subject: str
    facts: Mapping[str, Any]
    """They differ by event."""
    previous: str
    hash: str


@answer
class AuditLinks:
    """The newest links, which are not verified here."""

    audit: tuple[AuditLink, ...]
    events: tuple[str, ...]
    """Every kind that the chain has."""


@answer
class AuditVerified:
    """What checking the whole chain found."""

    ok: bool
    rows: int
    """That fit, before the first that does not."""
    head: str
    broken_id: int | None
    sentence: str
    anchors: int | None
    """Anchors of this ledger in the log that was given; null: none was."""
