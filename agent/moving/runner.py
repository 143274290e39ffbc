"""Runs one move that has begun: tries, holds, resumes and gives up, as ``transition_rules`` says."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, OperatorRequestRow, group_of
from agent.model.clock import repeat_in_background
from agent.model.states import ACTIONABLE, TO_BEGIN, MoveState
from agent.moving.attempt import Attempt, Start
from agent.moving.gate import Gate
from agent.moving.leftovers import Leftovers, Next, next_after
from agent.moving.precheck import Allowed, FactReader, PrecheckRefusal, precheck_group
from agent.moving.progress import (
    NOTE_EVERY_SECONDS,
    ExecutorHooks,
    MoveEvent,
    OperatorRequests,
    RunningMove,
    reason_of,
    update_running_move,
)
from agent.moving.reconciler import MoveStanding, Reconciler, in_words
from agent.moving.transition_rules import (
    Continuation,
    Findings,
    NextTry,
    Transition,
    TryEnd,
    TryResult,
    classify_end,
    next_step,
    put_off,
    resume_held,
)
from agent.planning.full_spaces import note_full
from connectors.kit.contract import (
    Clock,
    Connector,
    ConnectorError,
    HotplaceError,
    Interrupted,
    LockNotObtained,
    SpaceFull,
)
from connectors.model.formatting import format_seconds
from connectors.model.observation import Home

FIRST_PAUSE_SECONDS = 0.5  # between tries; doubles, because the session that holds the lock needs time
LONGEST_PAUSE_SECONDS = 30.0
MOST_DOUBLINGS = 10
LOOK_EVERY_SECONDS = 0.5  # at what is wanted while a try is waited for


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of one database's executor that a running move needs."""

    database: DatabaseConfig
    connector: Connector
    ledger: Ledger
    clock: Clock
    hooks: ExecutorHooks
    requests: OperatorRequests
    gate: Gate
    leftovers: Leftovers
    reconciler: Reconciler
    facts: FactReader

    def tell(self, row: MoveRow, sentence: str) -> None:
        """Report something that happened to a move."""
        if self.hooks.listener is not None:
            self.hooks.listener(MoveEvent(move=row, sentence=sentence))


class MoveRunner:
    """Runs moves one at a time, in the executor's thread."""

    def __init__(self, services: Services) -> None:
        self._s = services

    def run(self, row: MoveRow, start: Start) -> MoveRow:
        """Try a RUNNING move as often as is allowed and sensible; the row as it ended, or as it waits."""
        # A leftover of an earlier try would make the first statement fail each time. The move waits until the leftover
        # can be removed, and does not use up its tries meanwhile.
        if start == Start() and self._s.reconciler.stays_untidy(row):
            return self._apply(row, put_off("", self._obstacles(row)), None)
        # Asked once more: what a slow catalog was read for took its time, and only what has begun may go on.
        if start == Start() and self._s.gate.held_back:  # who has the new configuration decides, of a begun group too
            return self._apply(row, put_off("", "another configuration came before its first statement"), None)
        if start == Start() and not self._s.gate.may_begin_still(row) and not self._is_completed(row):
            return self._apply(row, put_off("", "its window closed before its first statement"), None)
        for tries in count(1):
            error, not_held = self._send(row, start)
            if isinstance(error, SpaceFull):
                self._note_full(row)
            # Read after the try: a request that arrived meanwhile may be what ended it.
            request = self._s.requests.of(row.id, fresh=True)
            result = TryResult(
                end=classify_end(error), error=str(error or ""), advice="" if error is None else error.advice,
                not_held=not_held, tries=tries, move=row.id,
                way_back=row.move.is_way_back,
            )  # fmt: skip
            orders = self._s.gate.orders(request)
            # An error does not say what is left of the statement: it may have committed before its session broke, or
            # have left half of an index. Only the catalog shows whether to repeat it, go on after it or stop.
            standing = self._s.reconciler.where_now(row) if result.end.needs_catalog else None
            if standing is not None and standing.inspection.home is not Home.SOURCE:
                orders = replace(orders, crowded="")  # what is halfway is completed, no matter who reads
            findings = None if standing is None else self._findings(
                row, error, tries, standing, may_retry=orders.continuation is Continuation.GO_ON
            )  # fmt: skip
            step = next_step(result, orders, findings)
            if step.follow_up is not NextTry.RETRY:
                return self._apply(row, step, request, error=result.error)
            assert standing is not None, "a retry follows only what the catalog shows"
            assert standing.start is not None, "what has arrived is not tried again"
            start = standing.start
            self._pause(row, result, error)
            # Only from the first statement on. Once something has arrived, the checks of its home and its size would
            # refuse the very move that has to be completed.
            if start == Start() and isinstance(refusal := self._check_again(row), PrecheckRefusal):
                if row.move.is_way_back and refusal.may_pass:
                    return self._apply(row, put_off("", refusal.sentence), None)
                # Two transitions: SKIPPED is for moves that have not begun, so none leads there from RUNNING.
                row = self._to(row, MoveState.APPROVED, "nothing changed; checked again before another try")
                return self._to(row, MoveState.SKIPPED, refusal.sentence)  # what is left of its group ends with it
        raise AssertionError("the loop above always returns")

    def _is_completed(self, row: MoveRow) -> bool:
        """Whether a move takes back, or belongs to a group that has begun: neither is left halfway for a window."""
        group = group_of(self._s.ledger.moves.rows(proposal_id=row.proposal_id), row)
        return row.move.is_way_back or any(each.id != row.id and each.state not in TO_BEGIN for each in group)

    def _note_full(self, row: MoveRow) -> None:
        """Keep what else is approved or proposed for that space from finding out the same."""
        free = None
        with suppress(HotplaceError):  # it is noted without
            free = next((s.free_bytes for s in self._s.connector.catalog().spaces if s.name == row.move.to_space), None)
        note_full(
            self._s.ledger, row.database, row.move.to_space, move=row.id, needed=row.move.size_bytes, free=free,
            now=self._s.clock.now(),
        )  # fmt: skip

    def resume(self, row: MoveRow) -> MoveRow:
        """Go on with a move that the engine holds, or give it up."""
        request = self._s.requests.of(row.id, fresh=True)
        start = self._s.reconciler.where_held(row)
        step = resume_held(self._s.gate.orders(request))
        if step.follow_up is NextTry.GIVE_UP_HELD:
            row = self._s.reconciler.give_up_held(row, start.ordinal, "" if request is None else reason_of(request))
            self._s.requests.answer_to(request, f"the move is {row.state}")
            return row
        return self.run(self._apply(row, step, request), start)

    def reconcile(self, row: MoveRow) -> MoveRow:
        """Bring an interrupted move into a state that agrees with the catalog, and answer a request that is too late.

        Raises:
            ConnectorError: the engine did not answer; the move stays as it is.
        """
        request = self._s.requests.of(row.id, fresh=True)
        row = self._s.reconciler.reconcile(row)
        if row.state not in ACTIONABLE:
            self._s.requests.answer_to(request, f"too late: the move is {row.state}")
        return row

    def _apply(self, row: MoveRow, step: Transition, request: OperatorRequestRow | None, *, error: str = "") -> MoveRow:
        """Write a transition to the ledger, answer the request that it settles, and do what follows."""
        if step.held_by:  # before the state: an agent that dies in between must not resume the move
            self._s.requests.hold(row.id, error, who=step.held_by)
        if step.state is not row.state:
            row = self._to(row, step.state, step.reason)
        if step.reply:  # after the state: an operator who reads the answer must find the state that it speaks of
            self._s.requests.answer_to(request, step.reply)
        if step.put_off_for:
            self._s.gate.put_off(row, step.put_off_for, step.rest_seconds)
        if row.state not in ACTIONABLE:
            self._s.gate.pauses.forget(row.id)
        if step.follow_up is NextTry.RECONCILE:
            return self.reconcile(row)
        return self.resume(row) if step.follow_up is NextTry.GIVE_UP_HELD else row

    def _findings(
        self, row: MoveRow, error: ConnectorError | None, tries: int, standing: MoveStanding, *, may_retry: bool
    ) -> Findings:
        """What the catalog shows after a try, and how much patience is left where another may follow."""
        arrived = standing.start is None
        retryable = may_retry and not arrived and classify_end(error) is TryEnd.RETRYABLE
        obstacles = self._obstacles(row) if retryable else ""
        patience = Next.GIVE_UP
        if retryable and error is not None:
            patience = self._patience(row, error, tries, standing, in_the_way=bool(obstacles))
        return Findings(
            inspection=standing.inspection,
            arrived=arrived,
            leftovers=self._s.leftovers.sentence(row.id),
            obstacles=obstacles,
            patience=patience,
        )

    def _patience(
        self, row: MoveRow, error: ConnectorError, tries: int, standing: MoveStanding, *, in_the_way: bool
    ) -> Next:
        """What may follow a failed try; waiting for a lock is not counted as a fault of the move."""
        pauses, inspection = self._s.gate.pauses, standing.inspection
        # Faults are counted across turns: a move that is handed back between tries would begin at 1 each time, and fail
        # for ever.
        counted = tries if isinstance(error, LockNotObtained) else pauses.count_fault(row.id)
        return next_after(
            error, counted, self._s.database.retries, first=not pauses.was_put_off(row.id),
            at_source=inspection.home is Home.SOURCE and not inspection.paused,
            in_the_way=in_the_way or bool(inspection.leftovers), expired=self._s.clock.now() >= row.expires_at,
        )  # fmt: skip

    def _obstacles(self, row: MoveRow) -> str:
        """Leftovers and sessions in the way of a try, in one sentence; "" where there are none."""
        return self._s.leftovers.obstacles(row.id, in_words(self._s.reconciler.blockers(row)))

    def _pause(self, row: MoveRow, result: TryResult, error: ConnectorError | None) -> None:
        """Wait before another try, twice as long each time, and no longer than the move may go on."""
        seconds = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(result.tries - 1, MOST_DOUBLINGS))
        most = "" if isinstance(error, LockNotObtained) else f" of {self._s.database.retries}"
        self._s.tell(row, f"{result.error}; try {result.tries + 1}{most} in {format_seconds(seconds)}")
        end = self._s.clock.monotonic() + seconds
        # In short sleeps: a stop or a cancellation would otherwise wait for the longest pause.
        while (left := end - self._s.clock.monotonic()) > 0 and self._s.gate.want(row) is Continuation.GO_ON:
            self._s.clock.sleep(min(LOOK_EVERY_SECONDS, left))

    def _check_again(self, row: MoveRow) -> Allowed | PrecheckRefusal:
        """The precheck of a RUNNING move that has changed nothing, with what is left of its group."""
        group = group_of(self._s.ledger.moves.rows(proposal_id=row.proposal_id), row)
        left = [row, *(each for each in group if each.state in TO_BEGIN)]
        return precheck_group(left, self._s.facts.read(left))

    def _send(self, row: MoveRow, start: Start) -> tuple[ConnectorError | None, str]:
        """One attempt: the error that ended it, or None, and why it was not held where that was wanted."""
        s = self._s
        attempt = Attempt(
            row, s.connector, s.ledger, s.clock, want=lambda: s.gate.want(row),
            tell=lambda sentence: s.tell(row, sentence), hold_lease=s.hooks.hold_lease,
            hopeless=lambda: s.gate.foreground.hopeless,
        )  # fmt: skip
        running: RunningMove | None = None

        def look() -> None:
            nonlocal running
            attempt.look_at(s.gate.foreground)
            running = update_running_move(row, attempt.progress(), s.clock.now(), running)
            if crowded := s.gate.foreground.crowded:
                running = replace(running, sentence="; ".join(filter(None, (running.sentence, crowded))))
            with suppress(HotplaceError):  # a note is missed for a second; the move goes on
                s.hooks.note(running)

        # Samples are taken while the move runs: the intervals in which it begins and ends, and those between, all hold
        # I/O of the copy.
        s.hooks.begin_copy()
        try:
            with repeat_in_background(s.clock, NOTE_EVERY_SECONDS, look):
                error = attempt.run(start)
                return _given_up(error, attempt.given_up), attempt.not_held
        finally:
            s.gate.learn_again()
            s.hooks.end_copy()
            with suppress(HotplaceError):  # as above: where the ledger is away, the journal has said so already
                s.hooks.note(None)

    def _to(self, row: MoveRow, state: MoveState, reason: str) -> MoveRow:
        return self._s.reconciler.to(row, state, reason)


def _given_up(error: ConnectorError | None, why: str) -> ConnectorError | None:
    """The error of a try, which says why it was given up for the sake of others, if it was."""
    if not why or not isinstance(error, Interrupted):
        return error
    return Interrupted(f"given up: {why}", advice="It is tried again once they take less.")
