"""Whether a move may begin, continue or has to stop: its window, the budgets and operator requests."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta

from agent.budget.allowance import START, Admission, AdmissionDecision, Limits, Need, decide, limits_of
from agent.budget.copy_history import CopyTimes, Used, learn, since_for, used_within
from agent.config import DatabaseConfig
from agent.execution.foreground import Foreground
from agent.execution.operator_requests import OperatorRequests, reason_of
from agent.execution.patience import Pauses
from agent.execution.transition import Continuation, Orders
from agent.ledger import Ledger, MoveRow, OperatorRequestRow, RequestKind
from agent.ledger.state_names import WAITING_MOVES
from agent.model.states import TO_BEGIN
from agent.model.waves import WaveAnswer, decide_wave
from connectors.base import Clock
from policies.calendar import Calendar

_BY_WAVE = {
    WaveAnswer.GO: Admission.START,
    WaveAnswer.WAIT: Admission.WAIT,
    WaveAnswer.NEVER: Admission.NEVER,
}
LEARN_AGAIN_SECONDS = 600.0
LONGEST_MOVE = timedelta(days=7)  # how long before a window a move may have begun that goes on within it


class Gate:
    """Admission of approved moves to their first statement, and of paused moves to the next one."""

    def __init__(
        self,
        database: DatabaseConfig,
        ledger: Ledger,
        clock: Clock,
        requests: OperatorRequests,
        stopping: threading.Event,
    ) -> None:
        """Wire it up.

        Args:
            database: its windows and budgets.
            ledger: earlier moves, and the document that says why moves wait.
            clock: time.
            requests: of operators.
            stopping: set once the agent is to stop.
        """
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._requests = requests
        self._stopping = stopping
        self.pauses = Pauses(clock)  # of moves that would be begun in vain now
        self.foreground = Foreground(database, clock)
        self._waiting: dict[str, str] = {}
        self._calendars: dict[int, Calendar | None] = {}
        self._before: dict[int, frozenset[int]] = {}
        self._times: CopyTimes | None = None
        self._learnt_at = -math.inf

    def decision(self, group: Sequence[MoveRow]) -> AdmissionDecision:
        """Whether what is left of a group may begin now; notes in the ledger why it waits.

        Args:
            group: all of it, in order of execution; at least one of its moves has not begun.
        """
        rows = [row for row in group if row.state in TO_BEGIN]
        # Read afresh: within the half second for which answers are reused, a move could begin that was asked to pause
        # meanwhile.
        requests = [(row, each) for row in rows if (each := self._requests.of(row.id, fresh=True)) is not None]
        paused = next(((row, request) for row, request in requests if request.kind is RequestKind.PAUSE), None)
        cancelled = next((request for _, request in requests if request.kind is RequestKind.CANCEL), None)
        if paused is not None:
            row, request = paused
            decision = AdmissionDecision(
                Admission.WAIT, f"{reason_of(request)}; hotplace resume {row.id} lets it begin"
            )
        elif cancelled is not None:  # requested while it ran, and the agent ended before it obeyed
            decision = AdmissionDecision(Admission.NEVER, reason_of(cancelled))
        elif (by_wave := self._by_wave(group)).answer is not Admission.START:
            decision = by_wave
        else:
            decision = self._by_window(rows, [row for row in group if row.move.goes_back])
        if decision.answer is Admission.START and (why := self.pauses.why(rows[0].id)):
            decision = AdmissionDecision(Admission.WAIT, why)
        self.note_waiting({str(rows[0].id): decision.sentence} if decision.answer is Admission.WAIT else {})
        return decision

    def seconds(self, row: MoveRow) -> float:
        """How long the statements of a move are expected to take, with the safety factor."""
        return self._database.copy_safety * self._learnt_times(self._clock.now()).seconds(row.move)

    def orders(self, request: OperatorRequestRow | None) -> Orders:
        """The orders in force for the move that an operator request is about; None: no request is in force."""
        return Orders(
            request=None if request is None else request.kind,
            request_reason="" if request is None else reason_of(request),
            window_open=self.open(),
            stopping=self._stopping.is_set(),
            crowded=self.foreground.crowded,
        )

    def want(self, row: MoveRow) -> Continuation:
        """What the running statement is to do."""
        return self.orders(self._requests.of(row.id)).continuation

    def may_go_on(self, row: MoveRow, *, again: bool) -> bool:
        """Whether a held move is to go on, or to be given up, now.

        Args:
            row: the move.
            again: enough time has passed to retry after the engine refused to end it.
        """
        request = self._requests.of(row.id, fresh=True)
        if self._stopping.is_set() or (request is not None and request.kind is RequestKind.PAUSE):
            return False
        if request is not None and request.kind is RequestKind.CANCEL:
            return not request.answer or again
        return self.open() and not self.foreground.crowded

    def put_off(self, row: MoveRow, why: str, at_least: float = 0.0) -> None:
        """Let an approved move wait for a while, longer every time, for so many seconds at least, and note why."""
        self.pauses.put_off(row.id, why, at_least)
        self.note_waiting({str(row.id): why})

    def open(self) -> bool:
        """Whether a window for moves is open now."""
        return self._database.calendar.contains(self._clock.now())

    def learn_again(self) -> None:
        """Forget the learned copy times: a move has just added evidence."""
        self._times = None

    def note_waiting(self, waiting: dict[str, str]) -> None:
        """Store what waits, and why, where other processes read it."""
        # Only on a change: the gate is asked every second, and each write takes the lock of the ledger.
        if waiting != self._waiting:
            self._waiting = waiting
            self._ledger.state.save_document(self._database.name, WAITING_MOVES, waiting)

    def _by_wave(self, group: Sequence[MoveRow]) -> AdmissionDecision:
        """Whether what was approved to go before a group allows it to begin; a begun one is completed."""
        number = group[0].proposal_id
        if number not in self._before:  # asked every second while something waits, and signed once
            self._before = {number: self._ledger.lists.goes_before(number)}
        before = self._before[number]
        if not before or any(row.state not in TO_BEGIN for row in group):
            return START
        decision = decide_wave(self._ledger.lists.went_before(before))
        return AdmissionDecision(_BY_WAVE[decision.answer], decision.sentence)

    def _by_window(self, rows: Sequence[MoveRow], may_go_back: Sequence[MoveRow]) -> AdmissionDecision:
        limits, calendar = limits_of(self._database), self._calendar_of(rows[0].proposal_id)
        if limits.calendar.always and not limits.capped and calendar is None:
            return START
        now = self._clock.now()
        times = self._learnt_times(now)
        need = _need_of(rows, may_go_back, times, self._database.copy_safety)
        if calendar is not None:  # that of its approval: both have to be open
            by_approval = decide(need, Limits(calendar=calendar), Used(), now)
            if by_approval.answer is not Admission.START:
                return by_approval
        opening = limits.calendar.opening_at(now)
        used = Used()
        if opening is not None and limits.capped:
            used = used_within(
                self._ledger.moves.sent_statements(self._database.name, opening.start - LONGEST_MOVE), opening, times
            )
        return decide(need, limits, used, now)

    def _calendar_of(self, proposal: int) -> Calendar | None:
        """The windows of the approval of a proposal; None: it has none of its own."""
        if proposal not in self._calendars:  # asked every second while something waits, and decided once
            self._calendars = {proposal: self._ledger.proposals.conditions(proposal).calendar}
        return self._calendars[proposal]

    def _learnt_times(self, now: datetime) -> CopyTimes:
        """Copy times learned from earlier moves; read again after each move and every ten minutes."""
        if self._times is None or self._clock.monotonic() - self._learnt_at >= LEARN_AGAIN_SECONDS:
            self._times = learn(self._ledger.moves.sent_statements(self._database.name, since_for(now)))
            self._learnt_at = self._clock.monotonic()
        return self._times


def _need_of(rows: Sequence[MoveRow], may_go_back: Sequence[MoveRow], times: CopyTimes, safety: float) -> Need:
    """The bytes and seconds that moves begun together need of a window, with the way back if their end fails."""
    what = rows[0].move.key if len(rows) == 1 else f"the group of {len(rows)} moves for {rows[-1].move.key}"
    # The way back as well: a group that fails in the last minutes of its window would otherwise stay half-done until
    # the next one.
    copies = [*rows, *may_go_back]
    return Need(
        key=f"{what} with its way back" if may_go_back else what,
        bytes=sum(row.move.size_bytes for row in copies),
        seconds=safety * sum(times.seconds(row.move) for row in copies),
        pausable=all(any(step.pausable for step in row.move.route.steps) for row in rows),
    )
