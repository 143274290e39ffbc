"""The facts from which the next state of a move is chosen, and the transition that is the result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from agent.execution.patience import Next
from agent.ledger import RequestKind
from agent.model.states import MoveState
from connectors.base import ConnectorError, Paused, Retry
from connectors.model import Home, Inspection


class TryEnd(StrEnum):
    """How one try at a move ended, as far as the statements say."""

    DONE = "every statement succeeded"
    HELD = "the engine holds a statement"
    UNKNOWN = "the outcome of a statement is not known"
    RETRYABLE = "a statement failed, and the same call may succeed"
    REFUSED = "a statement failed, and would fail again"

    @property
    def needs_catalog(self) -> bool:
        """Whether the catalog must be read before the next state can be chosen."""
        return self in {TryEnd.DONE, TryEnd.RETRYABLE, TryEnd.REFUSED}


class Continuation(StrEnum):
    """What the running statement is to do."""

    GO_ON = "go on"
    HOLD = "hold"  # the engine keeps what is done so far; where it cannot, the statement goes on
    STOP = "stop"  # cancel it


class FollowUp(StrEnum):
    """What the executor does once a transition is applied."""

    NONE = "none"
    RETRY = "retry"
    RECONCILE = "reconcile"
    GIVE_UP_HELD = "give up held"  # roll back what the engine holds


@dataclass(frozen=True, slots=True, kw_only=True)
class TryResult:
    """What one try returned."""

    end: TryEnd
    error: str = ""
    advice: str = ""
    not_held: str = ""  # why a statement that was to be held was allowed to finish
    tries: int = 1
    move: int = 0  # its number, for messages that name a command
    way_back: bool = False  # the move takes a group back, and is tried until that is done


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What operators, the calendar and the agent's own shutdown ask of a move."""

    request: RequestKind | None
    request_reason: str
    window_open: bool
    stopping: bool
    crowded: str = ""  # why sessions would wait too long next to a copy, in words; "": they do not

    @property
    def continuation(self) -> Continuation:
        """What the running statement is to do."""
        # Stop before hold: who cancels a move at the end of its window wants it rolled back, not kept until the next
        # one.
        if self.stopping or self.request is RequestKind.CANCEL:
            return Continuation.STOP
        if self.request is RequestKind.PAUSE or not self.window_open or self.crowded:
            return Continuation.HOLD
        return Continuation.GO_ON


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the catalog shows after a try, once the leftovers that may be removed are removed.

    Attributes:
        inspection: of the move.
        arrived: no statement of the move is left to send.
        leftovers: what could not be removed, in one sentence; "": nothing.
        obstacles: leftovers and sessions in the way of another try, in one sentence; "": none.
        patience: what may follow if the try can be repeated.
    """

    inspection: Inspection
    arrived: bool = False
    leftovers: str = ""
    obstacles: str = ""
    patience: Next = Next.GIVE_UP

    @property
    def unchanged(self) -> bool:
        """Whether the move can wait like one that never began: all of it is in its source, and nothing is held."""
        return self.inspection.home is Home.SOURCE and not self.inspection.paused


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """The next state of a move, and what goes with it.

    Attributes:
        state: to enter; the present one: the move stays as it is.
        reason: of the new state, in words.
        reply: to the operator request in force; "": the request is not settled yet.
        held_by: who keeps the move paused until an operator resumes it; "": the move may resume at once.
        put_off_for: why the move waits before another try; "": it need not wait.
        rest_seconds: it waits for at least that long then.
        follow_up: what the executor does next.
    """

    state: MoveState
    reason: str = ""
    reply: str = ""
    held_by: str = ""
    put_off_for: str = ""
    rest_seconds: float = 0.0
    follow_up: FollowUp = FollowUp.NONE


def classify_end(error: ConnectorError | None) -> TryEnd:
    """How a try ended, by the error that ended it; None: there was none."""
    if error is None:
        return TryEnd.DONE
    if isinstance(error, Paused):
        return TryEnd.HELD
    return {Retry.RECONCILE: TryEnd.UNKNOWN, Retry.LATER: TryEnd.RETRYABLE, Retry.NEVER: TryEnd.REFUSED}[error.retry]
