"""What the ledger answers with: rows, groups of moves, and proposals that make others unnecessary.

What makes room and what it makes room for: a group, which is begun only if all of it can be done.

A group pays only as a whole: what gives way loses, and what comes in its place gains more than that. So dropping any of
its moves drops all of it that has not begun, and where its end fails after something gave way, sessions wait more than
before it (``left_worse``).

When a stored proposal makes a new one unnecessary, and when a new one replaces a stored one. Pure functions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from agent.model.approvals import StandingRule
from agent.model.outcomes import Outcome
from agent.model.proposals import Proposal, ProposedMove, grouped, takes_back
from agent.model.states import (
    IN_PLACE,
    NOT_BEGUN,
    OUTSTANDING,
    READ_AS_EXPIRED,
    UNFINISHED,
    MoveState,
    ProposalState,
)
from policies.model.settings import Pin

if TYPE_CHECKING:
    from agent.ledger.measured.codec import Values
    from connectors.model.moves import Route
    from connectors.model.observation import I64


HOUR, DAY = 3600.0, 86400.0
EVERY = "*"  # in place of a database's name: all of the ledger
NOT_DECIDED, NOT_BEGUN_IN_TIME = "not decided in time", "not begun in time"  # why a proposal, or a move, has expired


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

    def seen_at(self, now: datetime) -> Self:
        """The same as it is at an instant: expired if it was not decided in time, whether or not an agent has noted it.

        An agent notes it with its next sample. Until then, and for ever where none runs, the stored state is an older
        one, which a reader may not be shown.
        """
        if self.state is not ProposalState.PROPOSED or self.proposal.expires_at > now:
            return self
        return replace(self, state=ProposalState.EXPIRED, reason=NOT_DECIDED)


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

    def seen_at(self, now: datetime) -> Self:
        """The same as it is at an instant, as ``ProposalRow.seen_at``: expired if it was not begun in time.

        A move by hand is left as it is: whether it was carried out in time is what the agent reads in the catalog.
        """
        if self.state not in READ_AS_EXPIRED or self.expires_at > now:
            return self
        return replace(self, state=MoveState.EXPIRED, reason=NOT_BEGUN_IN_TIME)


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


UNSTORED = 0  # number of a request that the audit chain holds and its table does not


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRow:
    """A stop in force: nothing is sent until a person lifts it."""

    database: str  # "*": all of the ledger
    who: str
    origin: str
    reason: str
    at: datetime

    @property
    def sentence(self) -> str:
        """Who has stopped what, when and why."""
        where = "all databases of this ledger" if self.database == EVERY else self.database
        return f"{where} stopped by {self.who}, {self.at:%F %T %Z}{': ' if self.reason else ''}{self.reason}"


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
    reason: str  # why it is closed, or is open in vain
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


def group_of(rows: Iterable[MoveRow], row: MoveRow) -> list[MoveRow]:
    """The rows of a move's group, the row's own among them, in order of execution.

    Args:
        rows: all moves of its proposal, perhaps those of others too.
        row: one of them.
    """
    own = [each for each in rows if each.proposal_id == row.proposal_id]
    return next(group for group in groups_of(own) if any(each.id == row.id for each in group))


def groups_of(rows: Collection[MoveRow]) -> list[list[MoveRow]]:
    """The groups of all moves of one proposal, in order of execution."""
    by_ordinal = {row.move.ordinal: row for row in rows}
    return [[by_ordinal[move.ordinal] for move in group] for group in grouped(row.move for row in rows)]


def for_a_person(rows: Collection[MoveRow]) -> list[MoveRow]:
    """Of moves that are in hand, the handed-over ones and those of their groups that wait for them."""
    found = []
    for number in dict.fromkeys(row.proposal_id for row in rows):
        for group in groups_of([row for row in rows if row.proposal_id == number]):
            states = [row.state for row in group]
            if MoveState.HANDED_OVER in states:
                first = states.index(MoveState.HANDED_OVER)
                found += [row for row in group[first:] if row.state in NOT_BEGUN]
    return found


def first_dropped(group: Iterable[MoveRow]) -> MoveRow | None:
    """The first move of a group that ended without being carried out, or that was taken back; None: there is none."""
    return next((row for row in group if row.state not in OUTSTANDING | IN_PLACE), None)


def left_worse(group: Sequence[MoveRow]) -> bool:
    """Whether a group has ended halfway, and what of it was carried out loses more than it saves."""
    arrived = [row for row in group if row.state in IN_PLACE]
    ended = not any(row.state in OUTSTANDING for row in group)
    return ended and first_dropped(group) is not None and sum(row.move.wait_saved_per_hour for row in arrived) < 0


def digest_of_work(proposal: Proposal) -> str:
    """Equal for proposals that would send the same statements for the same bundles, in any order.

    Sizes, expected gains and with them the order change a little with every sample. If they counted, a proposal would
    be superseded before anyone could finish reading it. The text that is stored, shown and approved is not affected.
    """
    work = [
        proposal.fingerprint,
        [
            [m.key, m.from_space, m.to_space, _work_of(m.route)]
            # Sorted by key, since the order of moves follows their gains and those change with every sample.
            for m in sorted(proposal.moves, key=lambda move: move.key)
        ],
    ]
    return hashlib.sha256(json.dumps(work, ensure_ascii=False).encode()).hexdigest()


def _work_of(route: Route) -> list[str]:
    """Every statement that carries a route out, no matter who sends it."""
    hand = route.by_hand
    by_hand = () if hand is None else (*hand.before, *hand.statements, *hand.after)
    return [*route.prologue, *(step.sql for step in route.steps), *by_hand]


def makes_unnecessary(row: ProposalRow, proposal: Proposal) -> bool:
    """Whether a stored proposal of the same work stands for a new one.

    It does not if the new one was requested by a command and the stored one was not: the agent may supersede its own
    proposals, but never one that was requested. Nor does it if something is now expected to outgrow the size up to
    which the stored one holds: it would be approved in vain. Nor does the undo of other moves: it may have run already,
    between the moves that it took back and those that are to be taken back now. Nor does one that the agent made while
    its clock was ahead: no rule approves it until then, and it would wait for so long.
    """
    if takes_back(row.proposal.purpose) and takes_back(proposal.purpose) and row.proposal.purpose != proposal.purpose:
        return False
    if row.state is ProposalState.APPROVED or row.proposal.asked_by:
        return True
    ahead = row.proposal.created_at > proposal.created_at
    return not (ahead or proposal.asked_by) and _sizes_hold(row.proposal, proposal)


def _sizes_hold(old: Proposal, new: Proposal) -> bool:
    """Whether no move of the new one is expected to become larger than the old one allows."""
    allowed = {move.key: move.largest_bytes for move in old.moves}
    return all((move.expected_bytes or move.size_bytes) <= allowed.get(move.key, 0) for move in new.moves)


def is_superseded_by(old: Proposal, new: Proposal) -> bool:
    """Whether the new one answers the same question; the agent's own never supersedes a requested one."""
    return old.purpose == new.purpose and (bool(new.asked_by) or not old.asked_by)
