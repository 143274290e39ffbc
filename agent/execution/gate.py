"""Whether a move may begin, go on or has to stop now: its window, the budgets, and what people ask of it."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta

from agent.budget.allowance import START, Admission, AdmissionDecision, Need, decide, limits_of
from agent.budget.copy_history import CopyTimes, Used, learn, since_for, used_within
from agent.config import DatabaseConfig
from agent.execution.attempt import Continuation
from agent.execution.operator_requests import OperatorRequests, reason_of
from agent.execution.patience import Pauses
from agent.ledger import Ledger, MoveRow, RequestKind
from agent.ledger.state_names import WAITING_MOVES
from connectors.base import Clock

LEARN_AGAIN_SECONDS = 600.0
LONGEST_MOVE = timedelta(days=7)  # how long before a window a move may have begun that goes on within it


class Gate:
    """What stands between an approved move and its first statement, and between a held one and its next."""

    def __init__(
        self,
        database: DatabaseConfig,
        ledger: Ledger,
        clock: Clock,
        wishes: OperatorRequests,
        stopping: threading.Event,
    ) -> None:
        """Wire it up.

        Args:
            database: its windows and budgets.
            ledger: what was moved before, and where it is noted why something waits.
            clock: time.
            wishes: what people ask of moves.
            stopping: set once the agent is to stop.
        """
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._wishes = wishes
        self._stopping = stopping
        self.pauses = Pauses(clock)  # of moves that would be begun in vain now
        self._waiting: dict[str, str] = {}
        self._times: CopyTimes | None = None
        self._learnt_at = -math.inf

    def decision(self, rows: Sequence[MoveRow]) -> AdmissionDecision:
        """Whether approved moves that are begun together may begin now; why they wait is noted for everybody who looks.

        Args:
            rows: a group, or what is left of it, in order of execution.
        """
        asks = [(row, ask) for row in rows if (ask := self._wishes.of(row.id, fresh=True)) is not None]
        paused = next(((row, ask) for row, ask in asks if ask.kind is RequestKind.PAUSE), None)
        cancelled = next((ask for _, ask in asks if ask.kind is RequestKind.CANCEL), None)
        if paused is not None:
            row, ask = paused
            decision = AdmissionDecision(Admission.WAIT, f"{reason_of(ask)}; hotplace resume {row.id} lets it begin")
        elif cancelled is not None:  # asked while it ran, by an agent that died before it obeyed
            decision = AdmissionDecision(Admission.NEVER, reason_of(cancelled))
        else:
            decision = self._by_window(rows)
        if decision.answer is Admission.START and (why := self.pauses.why(rows[0].id)):
            decision = AdmissionDecision(Admission.WAIT, why)
        self.note_waiting({str(rows[0].id): decision.sentence} if decision.answer is Admission.WAIT else {})
        return decision

    def seconds(self, row: MoveRow) -> float:
        """How long the statements of a move are expected to take, with the safety factor."""
        return self._database.copy_safety * self._learnt_times(self._clock.now()).seconds(row.move)

    def want(self, row: MoveRow) -> Continuation:
        """What is wanted of the statement that runs."""
        kind = self._wishes.kind(row.id)
        if self._stopping.is_set() or kind is RequestKind.CANCEL:
            return Continuation.STOP
        if kind is RequestKind.PAUSE or not self.open():
            return Continuation.HOLD
        return Continuation.GO_ON

    def lets_go_on(self, row: MoveRow, *, again: bool) -> bool:
        """Whether a held move is to go on, or to be given up, now.

        Args:
            row: the move.
            again: it is time to ask an engine again that has refused to end it.
        """
        ask = self._wishes.of(row.id, fresh=True)
        if self._stopping.is_set() or (ask is not None and ask.kind is RequestKind.PAUSE):
            return False
        if ask is not None and ask.kind is RequestKind.CANCEL:
            return not ask.answer or again
        return self.open()

    def put_off(self, row: MoveRow, why: str) -> None:
        """Let an approved move wait for a while, longer every time, and note why."""
        self.pauses.put_off(row.id, why)
        self.note_waiting({str(row.id): why})

    def open(self) -> bool:
        """Whether it is a time for moves."""
        return self._database.calendar.contains(self._clock.now())

    def learn_again(self) -> None:
        """A move was sent, which teaches too."""
        self._times = None

    def note_waiting(self, waiting: dict[str, str]) -> None:
        """Let everybody see what waits, and why."""
        if waiting != self._waiting:
            self._waiting = waiting
            self._ledger.state.save_document(self._database.name, WAITING_MOVES, waiting)

    def _by_window(self, rows: Sequence[MoveRow]) -> AdmissionDecision:
        limits = limits_of(self._database)
        if limits.calendar.always and not limits.capped:
            return START
        now = self._clock.now()
        times = self._learnt_times(now)
        opening = limits.calendar.opening_at(now)
        used = Used(0, 0.0)
        if opening is not None and limits.capped:
            used = used_within(
                self._ledger.moves.sent_statements(self._database.name, opening.start - LONGEST_MOVE), opening, times
            )
        return decide(_need_of(rows, times, self._database.copy_safety), limits, used, now)

    def _learnt_times(self, now: datetime) -> CopyTimes:
        """What moves have taught so far; read anew after each of them and now and then."""
        if self._times is None or self._clock.monotonic() - self._learnt_at >= LEARN_AGAIN_SECONDS:
            self._times = learn(self._ledger.moves.sent_statements(self._database.name, since_for(now)))
            self._learnt_at = self._clock.monotonic()
        return self._times


def _need_of(rows: Sequence[MoveRow], times: CopyTimes, safety: float) -> Need:
    """What moves that are begun together ask of a window."""
    what = rows[0].move.key if len(rows) == 1 else f"the group of {len(rows)} moves for {rows[-1].move.key}"
    return Need(
        key=what,
        bytes=sum(row.move.size_bytes for row in rows),
        seconds=safety * sum(times.seconds(row.move) for row in rows),
        pausable=all(any(step.pausable for step in row.move.route.steps) for row in rows),
    )
