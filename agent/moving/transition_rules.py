"""Which state a move enters next: pure rules over what a try returned and what is known.

The facts from which the next state of a move is chosen, and the transition that is the result.

Which state a move enters next: pure rules over what a try returned, what operators asked and what the catalog shows.

The executor and its reconciler read the facts, call one of these functions, and apply the ``Transition`` that it
returns. No function here reads a clock, the ledger or the engine, so a test can go through every combination.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from agent.ledger.rows import RequestKind
from agent.model.states import AT_ENGINE, MoveState
from agent.moving.leftovers import Next
from connectors.kit.contract import ConnectorError, Paused, Retry
from connectors.model.observation import Home, Inspection

AFTER_RESTART = "after a restart"


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


class NextTry(StrEnum):
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
    goes_on: str = AFTER_RESTART  # when a move that stopping has ended is tried again
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
    follow_up: NextTry = NextTry.NONE


def classify_end(error: ConnectorError | None) -> TryEnd:
    """How a try ended, by the error that ended it; None: there was none."""
    if error is None:
        return TryEnd.DONE
    if isinstance(error, Paused):
        return TryEnd.HELD
    return {Retry.RECONCILE: TryEnd.UNKNOWN, Retry.LATER: TryEnd.RETRYABLE, Retry.NEVER: TryEnd.REFUSED}[error.retry]


LONG_REST_SECONDS = 900.0  # of a way back that failed by more than waiting: copying until a disk is full is not kind
MOST_STARTS = 5  # without a visible end: a session that breaks in every try would copy for ever


def next_step(result: TryResult, orders: Orders, findings: Findings | None) -> Transition:
    """The transition of a RUNNING move after a try.

    Args:
        result: how the try ended.
        orders: in force now.
        findings: what the catalog shows; None unless ``result.end.needs_catalog``.
    """
    if result.end is TryEnd.HELD:
        return _after_hold(result, orders)
    if result.end is TryEnd.UNKNOWN:
        return Transition(state=MoveState.UNKNOWN, reason=result.error, follow_up=NextTry.RECONCILE)
    assert findings is not None, f"{result.end} needs the catalog"
    if result.end is TryEnd.DONE:
        return _after_last_statement(result, orders, findings)
    if result.end is TryEnd.RETRYABLE and orders.continuation is Continuation.GO_ON:
        if findings.arrived:
            return _after_last_statement(result, orders, findings)
        if findings.patience is Next.AGAIN:
            return Transition(state=MoveState.RUNNING, follow_up=NextTry.RETRY)
        if findings.patience is Next.LATER and findings.unchanged:
            return put_off(result.error, findings.obstacles)
    if result.end is TryEnd.RETRYABLE and _only_crowded(orders) and findings.unchanged:
        return replace(put_off(result.error, orders.crowded), rest_seconds=LONG_REST_SECONDS)
    # Not by GO_ON alone: refused next to a pause, or at the end of a window, a way back would end for good.
    if result.way_back and findings.unchanged and orders.continuation is not Continuation.STOP:
        return replace(put_off(result.error, findings.obstacles), rest_seconds=LONG_REST_SECONDS)
    return _after_failure(result, orders, findings)


def put_off(error: str, obstacles: str) -> Transition:
    """The transition of a move that has changed nothing and cannot go on now.

    Args:
        error: of the last try; "": there was none.
        obstacles: what is in the way, in one sentence; "": not known.
    """
    why = "; ".join(dict.fromkeys(filter(None, (error, obstacles))))
    reason = f"{why}; it is tried again while its window and its approval last"
    return Transition(state=MoveState.APPROVED, reason=reason, put_off_for=why)


def resume_held(orders: Orders) -> Transition:
    """The transition of a PAUSED move that need not stay paused."""
    if orders.request is RequestKind.CANCEL:
        return Transition(state=MoveState.PAUSED, follow_up=NextTry.GIVE_UP_HELD)
    reason = orders.request_reason or "goes on where it was held"
    return Transition(state=MoveState.RUNNING, reason=reason, reply="it goes on")


def after_giving_up(inspection: Inspection, reason: str) -> Transition:
    """The transition of a PAUSED move after the statements that roll it back.

    Args:
        inspection: after them.
        reason: of the cancellation.
    """
    if inspection.paused or inspection.running:
        return Transition(state=MoveState.PAUSED, reason="the engine still holds it; end it by hand")
    if inspection.home is Home.SOURCE:
        return Transition(state=MoveState.CANCELLED, reason=f"{reason}; {inspection.sentence}")
    return Transition(state=MoveState.PAUSED, follow_up=NextTry.RECONCILE)


def after_interruption(state: MoveState, inspection: Inspection | None) -> Transition:
    """The first transition of an unfinished move whose agent ended, or that the engine no longer holds.

    Args:
        state: an unfinished one.
        inspection: what the catalog shows; None for PRECHECK: no statement was sent yet.
    """
    if inspection is None:
        return Transition(state=MoveState.APPROVED, reason="interrupted before its first statement")
    if inspection.paused:
        return Transition(state=MoveState.PAUSED, reason="found held by the engine")
    was = "the agent ended while it ran" if state is MoveState.RUNNING else "the engine no longer holds it"
    return Transition(state=MoveState.UNKNOWN, reason=was if state in AT_ENGINE else "")


def leave_unknown(inspection: Inspection, starts: int, leftovers: str) -> Transition:
    """The transition of an UNKNOWN move, by the catalog alone.

    Args:
        inspection: once the leftovers that may be removed are removed.
        starts: statements of the move that had no visible end.
        leftovers: what could not be removed, in one sentence; "": nothing.
    """
    if inspection.running:
        return Transition(
            state=MoveState.UNKNOWN, reason="the server still works on it; the catalog is read again at the next cycle"
        )
    match inspection.home:
        case Home.TARGET:
            reason = _with_leftovers(f"found done: {inspection.sentence}", leftovers)
            return Transition(state=MoveState.PLACED, reason=reason)
        case Home.SOURCE if starts >= MOST_STARTS:
            reason = f"begun {starts} times and never done: {inspection.sentence}"
            return Transition(state=MoveState.FAILED, reason=reason)
        case Home.SOURCE:
            # Back to APPROVED and not to FAILED: an agent that was restarted in the middle is no fault of the move, and
            # its approval still stands.
            return Transition(state=MoveState.APPROVED, reason=f"found not done: {inspection.sentence}")
        case _:
            return Transition(state=MoveState.FAILED, reason=inspection.sentence)


def drop_unbegun(state: MoveState, orders: Orders, reason: str) -> Transition:
    """The transition of a move that will not begin any more: APPROVED or PRECHECK before it."""
    if state is MoveState.APPROVED and orders.request is RequestKind.CANCEL:
        return Transition(state=MoveState.CANCELLED, reason=reason, reply="no statement of it is under way")
    return Transition(state=MoveState.SKIPPED, reason=reason)


def _only_crowded(orders: Orders) -> bool:
    """Whether a move may not go on for the sake of sessions alone."""
    return bool(orders.crowded) and orders.request is None and orders.window_open and not orders.stopping


def _after_hold(result: TryResult, orders: Orders) -> Transition:
    """The engine holds the statement: by our order, by the engine alone, or because the window closed."""
    if orders.request is RequestKind.PAUSE:
        return Transition(state=MoveState.PAUSED, reason=orders.request_reason, reply="it is held")
    if orders.request is RequestKind.CANCEL:
        return _hold_to_give_up(result, orders)
    if not orders.window_open:
        return Transition(state=MoveState.PAUSED, reason="held at the end of its window; it goes on in the next")
    if orders.stopping:
        return Transition(state=MoveState.PAUSED, reason=f"{result.error}; it goes on {orders.goes_on}")
    if orders.crowded:
        return Transition(state=MoveState.PAUSED, reason=f"held: {orders.crowded}; it goes on once they take less")
    reason = f"{result.error}; hotplace resume {result.move} lets it go on"
    return Transition(state=MoveState.PAUSED, reason=reason, held_by="the engine")


def _hold_to_give_up(result: TryResult, orders: Orders) -> Transition:
    """Cancelled or stopped while the engine holds a statement; an agent that stops leaves the rollback to the next."""
    cancel_now = orders.request is RequestKind.CANCEL and not orders.stopping
    return Transition(
        state=MoveState.PAUSED,
        reason=f"{result.error}; the engine holds what is done so far",
        follow_up=NextTry.GIVE_UP_HELD if cancel_now else NextTry.NONE,
    )


def _after_last_statement(result: TryResult, orders: Orders, findings: Findings) -> Transition:
    """Every statement was sent; the move is PLACED only where the catalog agrees."""
    late = f"too late: it has ended{'; ' if result.not_held else ''}{result.not_held}"
    inspection = findings.inspection
    # The catalog has the last word: success of the statements does not say that the whole bundle is where it should be.
    if inspection.home is not Home.TARGET or inspection.on_disk is False:
        reason = f"the statements succeeded, but {inspection.sentence}"
        return Transition(state=MoveState.FAILED, reason=reason, reply=late)
    overran = bool(result.not_held) and not orders.window_open
    remark = f" It ended after its window: {result.not_held}." if overran else ""
    reason = _with_leftovers(f"{inspection.sentence}{remark}", findings.leftovers)
    return Transition(state=MoveState.PLACED, reason=reason, reply=late)


def _after_failure(result: TryResult, orders: Orders, findings: Findings) -> Transition:
    """A statement failed, and no other try follows at once."""
    inspection = findings.inspection
    if inspection.paused:
        return _held_after_failure(result, orders)
    if inspection.finished:
        # An error does not undo what has arrived: a session that broke after the last commit has failed, its move has
        # not.
        return _after_last_statement(TryResult(end=TryEnd.DONE), orders, findings)
    if inspection.home not in {Home.SOURCE, Home.GONE}:
        return _ended_on_the_way(result, inspection)
    if orders.request is RequestKind.CANCEL:
        return Transition(
            state=MoveState.CANCELLED, reason=orders.request_reason, reply="it was cancelled and rolled back"
        )
    if orders.stopping:
        reason = f"{result.error}; nothing changed, it goes on {orders.goes_on}"
        return Transition(state=MoveState.APPROVED, reason=reason)
    if result.end is TryEnd.RETRYABLE and orders.continuation is Continuation.HOLD:
        reason = f"{result.error}; nothing changed, it is not tried again now"
        return Transition(state=MoveState.APPROVED, reason=reason)
    tries = f" ({result.tries} tries)" if result.tries > 1 else ""
    parts = (f"{result.error}{tries}.", result.advice, findings.leftovers and f"{findings.leftovers}.")
    return Transition(state=MoveState.FAILED, reason=" ".join(filter(None, parts)), reply="too late: it has failed")


def _held_after_failure(result: TryResult, orders: Orders) -> Transition:
    """A fault left the statement held; an operator says how it goes on, unless the agent stops or it is cancelled."""
    if orders.stopping or orders.request is RequestKind.CANCEL:
        return _hold_to_give_up(result, orders)
    reason = f"{result.error}; {result.advice} hotplace resume {result.move} goes on, cancel gives up"
    return Transition(state=MoveState.PAUSED, reason=reason, held_by="a fault")


def _ended_on_the_way(result: TryResult, inspection: Inspection) -> Transition:
    """The try ended between two statements or after the last, and the bundle has left its source."""
    late = f"too late: {inspection.sentence}"
    if inspection.home is Home.TARGET:
        reason = f"{inspection.sentence} Not everything behind it was done: {result.error}"
        return Transition(state=MoveState.PLACED, reason=reason, reply=late)
    reason = " ".join(filter(None, (f"{result.error}; {inspection.sentence}", result.advice)))
    return Transition(state=MoveState.FAILED, reason=reason, reply=late)


def _with_leftovers(sentence: str, leftovers: str) -> str:
    return f"{sentence.rstrip('.')}; {leftovers}" if leftovers else sentence
