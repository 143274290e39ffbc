"""What the ledger answers with: frozen rows, and the settings of its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.model.outcomes import Outcome
from agent.model.proposals import Proposal, ProposedMove
from agent.model.standing_rules import StandingRule
from agent.model.states import UNFINISHED, MoveState, ProposalState
from policies.model.settings import Pin

if TYPE_CHECKING:  # of all rows, one has arrays
    from agent.ledger.measured.codec import Values
    from connectors.model import I64

HOUR, DAY = 3600.0, 86400.0


class StepState(StrEnum):
    """What is known of one statement."""

    INTENDED = "intended"  # about to be sent, or sent and never heard of again
    DONE = "done"
    PAUSED = "paused"  # held by the engine; another row of the same ordinal goes on with it
    FAILED = "failed"  # the engine refused it; nothing changed
    UNKNOWN = "unknown"  # the connection broke while it ran


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRow:
    """A proposal and what became of it."""

    id: int
    proposal: Proposal
    digest: str
    state: ProposalState
    reason: str
    decided_at: datetime | None  # when a person approved or rejected it
    decided_by: str
    decided_from: str  # terminal, address; "" until it is decided


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRow:
    """One move of a proposal and where it is in its life."""

    id: int
    proposal_id: int
    database: str  # name in the configuration
    fingerprint: str  # Identity.fingerprint that was approved
    digest: str  # of the whole proposal
    move: ProposedMove
    state: MoveState
    reason: str
    attempts: int  # how often it started to run
    updated_at: datetime
    approved: bool  # the stored proposal was approved, by exactly its digest
    planned_at: datetime  # when its size was exact
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One journalled statement."""

    id: int
    move_id: int
    ordinal: int
    sql: str
    state: StepState
    detail: str
    intended_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRow:
    """One statement that was sent, with what is known of its move: what caps and copy rates are counted from."""

    move_id: int
    ordinal: int
    sql: str
    state: StepState
    intended_at: datetime
    ended_at: datetime | None
    move_state: MoveState
    state_since: datetime  # when its move came into that state
    move: ProposedMove

    @property
    def over_at(self) -> datetime | None:
        """When it was over at the latest; None while the server may still work on it.

        The end of a statement is not seen where the agent dies or loses its connection. What becomes of its move is
        read from the catalog later, and once the move has come to an end, so has the statement.
        """
        if self.ended_at is not None:
            return self.ended_at
        return None if self.move_state in UNFINISHED else self.state_since


class RequestKind(StrEnum):
    """What an operator can request of a move."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRequestRow:
    """An operator request for a move, and what became of it."""

    id: int
    move_id: int
    kind: RequestKind
    who: str
    origin: str  # from where: terminal, address, "engine"
    reason: str
    at: datetime
    answer: str  # "" until the daemon has seen to it


class RuleState(StrEnum):
    """What a standing rule is good for."""

    PROPOSED = "proposed"  # waits for its signatures
    OPEN = "open"  # approves what it covers
    CLOSED = "closed"  # by a person, or because moves under it hurt; signed once more, it is open
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """A standing rule and what became of it."""

    number: int
    rule: StandingRule
    state: RuleState
    reason: str  # why it is closed
    closed_at: datetime | None  # when it was closed last; None: never, or it was opened since
    proposed_by: str
    proposed_at: datetime
    signed_by: tuple[str, ...]  # since it was proposed or closed last
    used_today: int  # proposals approved under it in the last 24 hours
    approved: tuple[int, ...]  # every proposal approved under it, the oldest first


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedSpaceRow:
    """A space that nothing may be brought to."""

    database: str
    space: str
    who: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRow:
    """What was measured for one move."""

    id: int
    move_id: int
    proposal_id: int
    database: str
    at: datetime
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PinRow:
    """A pin that an operator set by hand."""

    id: int
    database: str
    pattern: str  # unit key or glob
    pin: Pin
    who: str
    reason: str
    created_at: datetime
    until: datetime | None  # None: until it is removed


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One link of the audit chain."""

    id: int
    at: datetime
    actor: str  # the process that wrote it
    event: str
    subject: str
    facts: Mapping[str, Any]  # JSON values; who, origin and digest where a person decided
    previous: str  # hash of the row before
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What checking the whole chain found."""

    ok: bool
    rows: int  # verified before the first break
    head: str  # hash of the last row; a copy kept elsewhere proves that the whole ledger was not rewritten
    broken_id: int | None  # the first audit row that does not fit
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """Demand of one interval, of the units that had any."""

    database: str
    started_at: datetime
    ended_at: datetime
    seconds: float  # observed; less than the time between start and end where samples are missing
    resolution_seconds: int  # 0: as sampled, 600, 3600
    slots: I64  # (n,) ascending
    values: Values  # (signals, n) sums over the interval


class IntervalId(NamedTuple):
    """Which interval of the history it is."""

    place: int  # of the places where samples are; 0: the finest
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySettings:
    """How long history is kept in which detail."""

    as_sampled_seconds: float = DAY
    ten_minute_seconds: float = 7 * DAY
    history_seconds: float = 14 * DAY  # older rows are dropped

    def __post_init__(self) -> None:
        if not 0 < self.as_sampled_seconds <= self.ten_minute_seconds:
            raise ValueError(
                f"history as sampled lasts {self.as_sampled_seconds} s, by 10 min {self.ten_minute_seconds} s"
            )
        if self.history_seconds <= 0:
            raise ValueError(f"history lasts {self.history_seconds} s, expected more than 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldReport:
    """What folding did."""

    folded: int  # rows that went into coarser ones
    made: int  # coarser rows
    dropped: int  # rows past the end of history
    bytes_before: int  # blobs of the folded and dropped rows
    bytes_after: int  # blobs of the made rows
