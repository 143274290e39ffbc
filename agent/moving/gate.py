"""Whether a move may begin, continue or has to stop: window, budgets, requests, and what sessions wait.

How long sessions' reads take while moves wait, run or are held: above a limit none begins, above another it ends.

The engine's own counters of reads that no move makes, asked every few seconds while there is something to move. So are
replicas, where the connector tells how far they are behind.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, OperatorRequestRow, RequestKind
from agent.ledger.state_names import WAITING_MOVES
from agent.model.outcomes import WaveAnswer, decide_wave
from agent.model.states import TO_BEGIN
from agent.moving.leftovers import Pauses
from agent.moving.progress import OperatorRequests, reason_of
from agent.moving.transition_rules import AFTER_RESTART, Continuation, Orders
from agent.planning.allowance import START, Admission, AdmissionDecision, Limits, WindowNeed, decide, limits_of
from agent.sampling.experience import CopyTimes, Used, learn, since_for, used_within
from connectors.kit.contract import Clock, ConnectorError, Crowding, ForegroundReads, SeesForeground, SeesQueues
from connectors.model.formatting import format_seconds
from policies.model.calendar import Calendar

LOOK_EVERY_SECONDS = 2.0
LEAST_READS = 20  # of fewer the mean says little; they are counted together with the next ones
LONGEST_SECONDS = 30.0  # for which fewer reads are waited for: sessions that read less are not held up
FORGET_AFTER_SECONDS = 60.0  # of no look
REST_SECONDS = 30.0  # after a limit was passed: what was held relieves the disk at once, and would go on and off


class Foreground:
    """The mean time of sessions' reads, against the limits of one database. Looks from one thread at a time."""

    def __init__(self, database: DatabaseConfig, clock: Clock) -> None:
        """Wire it up.

        Args:
            database: its limits; without one it is never asked.
            clock: time.
        """
        self._abort = database.read_time_abort_seconds
        # What is given up above the second limit must not begin there: it is the first one where there is no other.
        self._key = "read_time_abort" if database.read_time_limit_seconds is None else "read_time_limit"
        self._limit = self._abort if database.read_time_limit_seconds is None else database.read_time_limit_seconds
        self._clock = clock
        self._looks = 0  # in a row
        self._before: ForegroundReads | None = None
        self._before_at = -math.inf  # on the monotonic clock, as the others
        self._looked_at = self._asked_at = -math.inf
        self._behind, self._behind_until = Crowding(), -math.inf
        self._crowded_until = -math.inf
        self._passed = math.nan  # the mean that passed the limit last
        self.seconds = math.nan  # mean of one read at the last look; NaN: not known, or there were few

    @property
    def limited(self) -> bool:
        """Whether there is anything to look for."""
        return self._limit is not None

    def look(self, source: object) -> None:
        """Ask what can tell, a connector or a mover, unless that was done a moment ago."""
        now = self._clock.monotonic()
        if now - self._asked_at < LOOK_EVERY_SECONDS:
            return
        self._asked_at = now
        with suppress(ConnectorError):  # a move must not fail because this cannot be read
            if isinstance(source, SeesQueues) and (found := source.crowding()).hold:
                self._behind, self._behind_until = found, now + REST_SECONDS
        if not self.limited or not isinstance(source, SeesForeground):
            return
        if now - self._looked_at > FORGET_AFTER_SECONDS:
            self._looks, self._before, self.seconds = 0, None, math.nan
        self._looks, self._looked_at = self._looks + 1, now
        with suppress(ConnectorError):  # as above
            self._see(source.foreground_reads(), now)

    @property
    def unknown(self) -> bool:
        """Whether it was looked at once only: what a read takes is known at the next look."""
        return self.limited and self._looks == 1

    @property
    def crowded(self) -> str:
        """Why no move should run now, in words; "" where it may."""
        if self._clock.monotonic() < self._behind_until:
            return self._behind.hold
        if self._limit is None or self._clock.monotonic() >= self._crowded_until:
            return ""
        return self._words(self._key, self._limit)

    @property
    def hopeless(self) -> str:
        """Why what runs should be given up now, in words; "" where it need not."""
        if self._clock.monotonic() < self._behind_until and self._behind.abort:
            return self._behind.abort
        stale = self._clock.monotonic() - self._looked_at > FORGET_AFTER_SECONDS
        if self._abort is None or stale or not self.seconds > self._abort:
            return ""
        return self._words("read_time_abort", self._abort)

    def _words(self, key: str, limit: float) -> str:
        took = self.seconds if self.seconds > limit else self._passed
        return f"reads of sessions take {format_seconds(took)} on average ({key}: {format_seconds(limit)})"

    def _see(self, reads: ForegroundReads | None, now: float) -> None:
        before, since = self._before, self._before_at
        if reads is None or before is None or reads.reads < before.reads or reads.seconds < before.seconds:
            self._before, self._before_at = reads, now  # the first look, or the counters began again
            return
        count = reads.reads - before.reads
        if count < LEAST_READS and now - since < LONGEST_SECONDS:
            return
        self.seconds = (reads.seconds - before.seconds) / count if count >= LEAST_READS else math.nan
        self._before, self._before_at = reads, now
        if self._limit is not None and self.seconds > self._limit:
            self._passed, self._crowded_until = self.seconds, now + REST_SECONDS


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
        self.held_back = False  # nothing more begins, as another configuration is to be taken over
        self.pauses = Pauses(clock)  # of moves that would be begun in vain now
        self.foreground = Foreground(database, clock)
        self._waiting: dict[str, str] = {}
        self._passed: dict[str, str] = {}  # of moves that wait for sessions while others pass
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
        stop = self._requests.stop()
        paused = next(((row, request) for row, request in requests if request.kind is RequestKind.PAUSE), None)
        cancelled = next((request for _, request in requests if request.kind is RequestKind.CANCEL), None)
        if stop is not None:
            decision = AdmissionDecision(Admission.WAIT, stop.sentence)
        elif paused is not None:
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
        stop = self._requests.stop()
        return Orders(
            request=None if request is None else request.kind,
            request_reason="" if request is None else reason_of(request),
            window_open=self.open(),
            stopping=self._stopping.is_set() or stop is not None,
            goes_on=AFTER_RESTART if stop is None else "once the stop is lifted",
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
        stops = self._stopping.is_set() or self._requests.stop() is not None
        if stops or (request is not None and request.kind is RequestKind.PAUSE):
            return False
        if request is not None and request.kind is RequestKind.CANCEL:
            return not request.answer or again
        return self.open() and not self.foreground.crowded

    def put_off(self, row: MoveRow, why: str, at_least: float = 0.0) -> None:
        """Let an approved move wait for a while, longer every time, for so many seconds at least, and note why."""
        self.pauses.put_off(row.id, why, at_least)
        self.note_waiting({str(row.id): why})

    def begin_round(self) -> None:
        """Look at approved moves from the first one again."""
        self._passed = {}

    def may_be_passed(self, group: Sequence[MoveRow]) -> bool:
        """Whether only what is in the way of this group keeps it from beginning; if so it is noted as passed.

        Not if something holds back every move, nor if the group has begun or takes something back.
        """
        first = group[0]
        why = self.pauses.why(first.id)
        whole = all(row.state in TO_BEGIN and not row.move.is_way_back for row in group)
        if not why or not whole or self.foreground.crowded or self.foreground.unknown:
            return False
        self._passed[str(first.id)] = why
        self.note_waiting({})
        return True

    def open(self) -> bool:
        """Whether a window for moves is open now."""
        return self._database.calendar.contains(self._clock.now())

    def may_begin_still(self, row: MoveRow) -> bool:
        """Whether the windows of the database and of its approval are open now for a move that was let begin."""
        own = self._calendar_of(row.proposal_id)
        return self.open() and (own is None or own.contains(self._clock.now()))

    def learn_again(self) -> None:
        """Forget the learned copy times: a move has just added evidence."""
        self._times = None

    def note_waiting(self, waiting: dict[str, str]) -> None:
        """Store what waits, and why, where other processes read it."""
        waiting = {**self._passed, **waiting}
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


def _need_of(rows: Sequence[MoveRow], may_go_back: Sequence[MoveRow], times: CopyTimes, safety: float) -> WindowNeed:
    """The bytes and seconds that moves begun together need of a window, with the way back if their end fails."""
    what = rows[0].move.key if len(rows) == 1 else f"the group of {len(rows)} moves for {rows[-1].move.key}"
    # The way back as well: a group that fails in the last minutes of its window would otherwise stay half-done until
    # the next one.
    copies = [*rows, *may_go_back]
    return WindowNeed(
        key=f"{what} with its way back" if may_go_back else what,
        bytes=sum(row.move.size_bytes for row in copies),
        seconds=safety * sum(times.seconds(row.move) for row in copies),
        pausable=all(any(step.pausable for step in row.move.route.steps) for row in rows),
    )
