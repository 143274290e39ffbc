"""Carries out approved moves: its window and what people ask, precheck, journal the intent, act, ask the catalog.

The executor and its reconciler are the only callers of ``Connector.open_mover``, for moves that the ledger holds as
approved. Whatever interrupts it, the ledger knows what was about to happen, and ``reconcile`` asks the catalog.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from agent.budget.allowance import Admission
from agent.config import DatabaseConfig
from agent.execution.attempt import Attempt, Continuation, Start
from agent.execution.gate import Gate
from agent.execution.leftovers import Leftover, Leftovers
from agent.execution.operator_requests import OperatorRequests, reason_of
from agent.execution.patience import Next, next_after
from agent.execution.precheck import Allowed, Facts, PrecheckRefusal, precheck_group
from agent.execution.progress import NOTE_EVERY_SECONDS, RunningMove, update_running_move
from agent.execution.reconciler import Reconciler, Standing, in_words
from agent.ledger import Ledger, MoveRow, RequestKind
from agent.ledger.grouping import dropped, group_of
from agent.model.clock import beside
from agent.model.states import ACTIONABLE, IN_PLACE, TO_BEGIN, UNFINISHED, MoveState
from agent.planning.containers import without
from connectors.base import Clock, Connector, ConnectorError, HotplaceError, LockNotObtained, Paused, Retry
from connectors.formatting import format_seconds
from connectors.model import Home, Space
from policies.model.plan import MoveReason

FIRST_PAUSE_SECONDS = 0.5  # between tries; doubles, because whoever holds the lock needs time
LONGEST_PAUSE_SECONDS = 30.0
LOOK_AGAIN_SECONDS = 5.0  # at a move that the server still works on
LOOK_AT_HELD_SECONDS = 60.0  # somebody may have ended it at the engine


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveEvent:
    """Something happened to a move; for progress on a terminal and for the log."""

    move: MoveRow
    sentence: str


Listener = Callable[[MoveEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorHooks:
    """What ties the executor to the watch around it.

    Attributes:
        disturb: called before and after every statement, so that our own I/O is not taken for demand.
        hold_lease: called before every statement; raises ``LeaseHeld`` where another agent acts here by now.
        note: told every second how far the running statement is, and None when nothing runs any more.
        listener: told of everything that happens to a move.
    """

    disturb: Callable[[], None]
    hold_lease: Callable[[], None]
    note: Callable[[RunningMove | None], None]
    listener: Listener | None


class Executor:
    """The hands on one database. ``run_approved`` from one thread; ``stop`` from any."""

    def __init__(
        self,
        database: DatabaseConfig,
        connector: Connector,
        ledger: Ledger,
        clock: Clock,
        ties: ExecutorHooks,
    ) -> None:
        """Wire it up.

        Args:
            database: its configuration.
            connector: over the moving account; reads here are the executor's own, not the sampler's.
            ledger: the journal.
            clock: time.
            ties: to the watch around it.
        """
        self._database = database
        self._connector = connector
        self._ledger = ledger
        self._clock = clock
        self._ties = ties
        self._stopping = threading.Event()
        self._wishes = OperatorRequests(database.name, ledger, clock)
        self._gate = Gate(database, ledger, clock, self._wishes, self._stopping)
        self._leftovers = Leftovers(database.name, ledger, clock)
        self._reconciler = Reconciler(connector, ledger, self._leftovers, self._tell)
        self._look_at = -math.inf  # when unfinished moves are worth a look, by the monotonic clock

    # -- what there is to do -------------------------------------------------------------------------------------

    def has_work(self) -> bool:
        """Whether ``run_approved`` would do anything; asks the ledger alone, and notes why what waits is waiting."""
        if self._leftovers.due():
            return True
        rows = self._ledger.moves.rows(database=self._database.name, states=ACTIONABLE)
        unfinished = [row for row in rows if row.state in UNFINISHED]
        if any(row.state is MoveState.PAUSED and self._may_go_on(row) for row in unfinished):
            return True
        if unfinished or not rows:
            self._gate.note_waiting({})
            return bool(unfinished) and self._clock.monotonic() >= self._look_at
        group = self._group(rows[0])
        return dropped(group) is not None or self._gate.decision(_to_begin(group)).answer is not Admission.WAIT

    def run_approved(self) -> tuple[MoveRow, ...]:
        """Carry out every approved move of this database in order; returns the rows as they ended.

        What is held goes on first, unless it is to stay held. One at a time: while one is unfinished nothing begins,
        and what comes after a move that waits waits with it, because plans are made in an order.

        Raises:
            LeaseHeld: another agent has begun to act here; what runs is its to judge.
            ConnectorError: the engine did not answer before anything was started.
        """
        unfinished = [row for row in self.reconcile() if row.state in UNFINISHED]
        self._reconciler.tidy_later()
        done = []
        if all(row.state is MoveState.PAUSED for row in unfinished):
            done = [self._go_on(row) for row in unfinished if self._may_go_on(row)]
            unfinished = [row for row in unfinished if self._ledger.moves.row(row.id).state in UNFINISHED]
        if not unfinished:
            done += self._begin_approved()
        self._look_again(self._ledger.moves.rows(database=self._database.name, states=UNFINISHED))
        return tuple(done)

    def reconcile(self) -> tuple[MoveRow, ...]:
        """Bring every move that was interrupted into a state that agrees with the catalog.

        Raises:
            ConnectorError: the engine did not answer; the moves stay as they are.
        """
        rows = self._ledger.moves.rows(database=self._database.name, states=UNFINISHED)
        return tuple(self._reconciler.reconcile(row) for row in rows)

    def leftovers(self) -> tuple[Leftover, ...]:
        """What moves have left in the database, as far as it could not be removed."""
        return self._leftovers.rows()

    def stop(self) -> None:
        """Start nothing more and cancel what runs, within a moment; the engine rolls it back."""
        self._stopping.set()

    # -- beginning -----------------------------------------------------------------------------------------------

    def _begin_approved(self) -> list[MoveRow]:
        self._ledger.proposals.expire_due()
        done: list[MoveRow] = []
        for row in self._ledger.moves.rows(database=self._database.name, states={MoveState.APPROVED}):
            if self._stopping.is_set():
                break
            if self._ledger.moves.row(row.id).state is not MoveState.APPROVED:
                continue  # cancelled meanwhile, or skipped with its group
            group = self._group(row)
            without = dropped(group)
            if without is not None:
                done += self._skip(group, f"move {without.move.ordinal} ({without.move.key}) is {without.state}")
                continue
            decision = self._gate.decision(_to_begin(group))
            if decision.answer is Admission.WAIT:
                break
            if decision.answer is Admission.NEVER:
                done += self._skip(group, decision.sentence)
                continue
            if self._is_in_vain(row):
                break
            done += self._run(row, group)
            if done[-1].state in ACTIONABLE:
                break
        return done

    def _group(self, row: MoveRow) -> list[MoveRow]:
        """The moves that a move belongs to, as they are now, its own among them."""
        return group_of(self._ledger.moves.rows(proposal_id=row.proposal_id), row)

    def _is_in_vain(self, row: MoveRow) -> bool:
        """Whether a try would only wait, or build beside what an earlier one has left; the move is put off then."""
        blockers = self._reconciler.blockers(row)
        why = self._leftovers.sentence(row.id) or in_words(blockers)
        if why:
            self._gate.put_off(row, why)
        elif blockers:
            self._tell(row, f"{'; '.join(blocker.sentence for blocker in blockers)}: asked to give way")
        return bool(why)

    def _skip(self, group: Sequence[MoveRow], reason: str) -> list[MoveRow]:
        """End what has not begun of a group; where that is all of it, nothing of it was moved."""
        ended = []
        reason = reason if len(group) == 1 else _of_all(group, reason)
        for row in (self._ledger.moves.row(each.id) for each in group):
            ask = self._wishes.of(row.id)
            if row.state not in TO_BEGIN:
                continue
            if row.state is MoveState.APPROVED and ask is not None and ask.kind is RequestKind.CANCEL:
                ended.append(self._to(row, MoveState.CANCELLED, reason))
                self._wishes.answer_to(ask, "nothing of it is under way")
            else:
                ended.append(self._to(row, MoveState.SKIPPED, reason))
        return ended

    def _run(self, row: MoveRow, group: Sequence[MoveRow]) -> list[MoveRow]:
        """Begin the next move of a group, if all that is left of the group can be done; the rows that this ended."""
        row = self._to(row, MoveState.PRECHECK, "looking at what is true now")
        if row.move.reason == MoveReason.DRAIN:
            self._ledger.arrivals.close(
                row.database, row.move.from_space, who=f"proposal {row.proposal_id}", reason="it is being drained"
            )
        group = [row if each.id == row.id else each for each in group]
        left = _to_begin(group)
        answer = precheck_group(left, self._facts(left))
        if isinstance(answer, PrecheckRefusal):
            return self._skip(group, answer.sentence)
        row = self._to(row, MoveState.RUNNING, f"{len(row.move.route.steps)} statement(s) by {row.move.route.name}")
        return [self._try(row, Start())]

    # -- holding, going on, giving up ----------------------------------------------------------------------------

    def _may_go_on(self, row: MoveRow) -> bool:
        return self._gate.lets_go_on(row, again=self._clock.monotonic() >= self._look_at)

    def _go_on(self, row: MoveRow) -> MoveRow:
        """Go on with a move that the engine holds, or give it up."""
        ask, start = self._wishes.of(row.id, fresh=True), self._reconciler.where_held(row)
        if ask is not None and ask.kind is RequestKind.CANCEL:
            row = self._reconciler.give_up_held(row, start.ordinal, reason_of(ask))
            self._wishes.answer_to(ask, f"the move is {row.state}")  # which may have ended, and no ask in force then
            return row
        row = self._to(row, MoveState.RUNNING, "goes on where it was held" if ask is None else reason_of(ask))
        self._wishes.answer_to(ask, "it goes on")
        return self._try(row, start)

    def _hold(self, row: MoveRow, error: ConnectorError) -> MoveRow:
        """The engine holds the statement: at our word, at the end of the window, or at somebody else's."""
        ask = self._wishes.of(row.id, fresh=True)
        if ask is not None and ask.kind is RequestKind.PAUSE:
            row = self._to(row, MoveState.PAUSED, reason_of(ask))
            self._wishes.answer_to(ask, "it is held")
            return row
        if not self._gate.open():
            return self._to(row, MoveState.PAUSED, "held at the end of its window; it goes on in the next")
        if self._stopping.is_set():
            return self._to(row, MoveState.PAUSED, f"{error}; it goes on after a restart")
        self._wishes.hold(row.id, str(error), who="the engine")
        return self._to(row, MoveState.PAUSED, f"{error}; hotplace resume {row.id} lets it go on")

    # -- trying --------------------------------------------------------------------------------------------------

    def _try(self, row: MoveRow, start: Start) -> MoveRow:
        """As often as is allowed and sensible; the row as it ended, or as it waits."""
        if start == Start() and self._reconciler.stays_untidy(row):
            return self._put_off(row, "")
        for attempt in count(1):
            error, unheld = self._send(row, start)
            if error is None:
                return self._finish(row, unheld)
            if isinstance(error, Paused):
                return self._hold(row, error)
            if error.retry is not Retry.LATER or self._gate.want(row) is not Continuation.GO_ON:
                return self._give_up(row, error, attempt)
            standing = self._reconciler.where_now(row)
            if standing.start is None:
                return self._finish(row, "")
            match self._next(row, error, attempt, standing):
                case Next.GIVE_UP:
                    return self._give_up(row, error, attempt)
                case Next.LATER:
                    return self._put_off(row, str(error))
            start = standing.start
            pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
            self._tell(row, f"{error}; try {attempt + 1} of {self._database.retries} in {format_seconds(pause)}")
            self._clock.sleep(pause)
            if start == Start() and isinstance(answer := self._looked_at_again(row), PrecheckRefusal):
                row = self._to(row, MoveState.APPROVED, "nothing changed; looked at again before another try")
                return self._to(row, MoveState.SKIPPED, answer.sentence)  # what is left of its group ends with it
        raise AssertionError("the loop above always returns")

    def _looked_at_again(self, row: MoveRow) -> Allowed | PrecheckRefusal:
        """The precheck of a move that runs and of which nothing has arrived, with what is left of its group."""
        left = [row, *_to_begin(self._group(row))]
        return precheck_group(left, self._facts(left))

    def _next(self, row: MoveRow, error: ConnectorError, attempt: int, standing: Standing) -> Next:
        """What follows a try that has failed; waiting for a lock is not counted as a fault of the move."""
        pauses = self._gate.pauses
        first = not pauses.was_put_off(row.id)
        tries = attempt if isinstance(error, LockNotObtained) else pauses.count_fault(row.id)
        return next_after(
            error, tries, self._database.retries, first=first,
            at_source=standing.inspection.home is Home.SOURCE and not standing.inspection.paused,
            in_the_way=bool(standing.inspection.leftovers or in_words(self._reconciler.blockers(row))),
        )  # fmt: skip

    def _put_off(self, row: MoveRow, why: str) -> MoveRow:
        """Nothing changed: the move waits like one that has not begun, and says for whom."""
        left, blockers = self._leftovers.sentence(row.id), in_words(self._reconciler.blockers(row))
        why = "; ".join(dict.fromkeys(filter(None, (why, left, blockers))))
        row = self._to(row, MoveState.APPROVED, f"{why}; it is tried again while its window and its approval last")
        self._gate.put_off(row, why)
        return row

    def _send(self, row: MoveRow, start: Start) -> tuple[ConnectorError | None, str]:
        """One attempt: the error that ended it, or None, and why it was not held where that was wanted."""
        attempt = Attempt(
            row, self._connector, self._ledger, self._clock,
            want=lambda: self._gate.want(row), tell=lambda sentence: self._tell(row, sentence),
            hold_lease=self._ties.hold_lease,
        )  # fmt: skip
        running: RunningMove | None = None

        def look() -> None:
            nonlocal running
            running = update_running_move(row, attempt.progress(), self._clock.now(), running)
            with suppress(HotplaceError):  # nobody sees it for a second; the move goes on
                self._ties.note(running)

        self._ties.disturb()
        try:
            with beside(self._clock, NOTE_EVERY_SECONDS, look):
                return attempt.run(start), attempt.not_held
        finally:
            self._ties.note(None)
            self._gate.learn_again()
            self._ties.disturb()

    def _finish(self, row: MoveRow, not_held: str) -> MoveRow:
        ask = self._wishes.of(row.id, fresh=True)
        closed = not self._gate.open()
        self._gate.pauses.forget(row.id)
        row = self._reconciler.settle(row, f"It ended after its window: {not_held}." if closed and not_held else "")
        self._wishes.answer_to(ask, f"too late: it has ended{'; ' if not_held else ''}{not_held}")
        return row

    def _give_up(self, row: MoveRow, error: ConnectorError, attempts: int) -> MoveRow:
        if error.retry is Retry.RECONCILE:
            return self._reconciler.reconcile(self._to(row, MoveState.UNKNOWN, str(error)))
        ask = self._wishes.of(row.id, fresh=True)
        cancelled = ask is not None and ask.kind is RequestKind.CANCEL
        inspection = self._reconciler.inspect(row)
        if inspection.paused:
            row = self._held_by_fault(row, error, cancelled=cancelled)
            return self._go_on(row) if cancelled and not self._stopping.is_set() else row
        inspection = self._reconciler.tidy(row, inspection)
        if inspection.finished:
            return self._finish(row, "")
        if inspection.home not in {Home.SOURCE, Home.GONE}:  # it ended between two statements, or behind the last
            row = self._reconciler.end_on_the_way(row, error, inspection)
            self._wishes.answer_to(ask, f"too late: {inspection.sentence}")
            return row
        if ask is not None and cancelled:
            row = self._to(row, MoveState.CANCELLED, reason_of(ask))
            self._wishes.answer_to(ask, "it was cancelled and rolled back")
            return row
        if self._stopping.is_set():
            return self._to(row, MoveState.APPROVED, f"{error}; nothing changed, it goes on after a restart")
        if error.retry is Retry.LATER and self._gate.want(row) is Continuation.HOLD:
            return self._to(row, MoveState.APPROVED, f"{error}; nothing changed, it is not tried again now")
        tries = f" ({attempts} tries)" if attempts > 1 else ""
        left = self._leftovers.sentence(row.id)
        self._gate.pauses.forget(row.id)
        said = (f"{error}{tries}.", error.advice, left and f"{left}.")
        row = self._to(row, MoveState.FAILED, " ".join(filter(None, said)))
        self._wishes.answer_to(ask, "too late: it has failed")
        return row

    def _held_by_fault(self, row: MoveRow, error: ConnectorError, *, cancelled: bool) -> MoveRow:
        """What went wrong left the statement held; unless the agent just stops, a person says how it goes on."""
        if self._stopping.is_set() or cancelled:
            return self._to(row, MoveState.PAUSED, f"{error}; the engine holds what is done so far")
        self._wishes.hold(row.id, str(error), who="a fault")
        return self._to(
            row, MoveState.PAUSED, f"{error}; {error.advice} hotplace resume {row.id} goes on, cancel gives up"
        )

    # -- small parts ---------------------------------------------------------------------------------------------

    def _facts(self, rows: Sequence[MoveRow]) -> list[Facts]:
        """The world as it is now, for each of some moves."""
        storage = self._database.resolve_spaces(self._connector.catalog())
        spaces = {space.name: space for space in storage.spaces}
        closed = {each.space for each in self._ledger.arrivals.rows(self._database.name)}
        fingerprint = self._connector.identify().fingerprint
        return [
            Facts(
                now=self._clock.now(),
                fingerprint=fingerprint,
                inspection=self._reconciler.inspect(row),
                target=_target(row, spaces),
                head_room_ratio=self._database.policy_settings().head_room_ratio,
                closed=not row.move.route.bundle.container and row.move.to_space in closed,
                seconds=self._gate.seconds(row),
            )
            for row in rows
        ]

    def _look_again(self, unfinished: list[MoveRow]) -> None:
        """When unfinished moves are worth asking the engine about again."""
        held = all(row.state is MoveState.PAUSED for row in unfinished)
        pause = LOOK_AT_HELD_SECONDS if held else LOOK_AGAIN_SECONDS
        self._look_at = self._clock.monotonic() + pause if unfinished else -math.inf

    def _to(self, row: MoveRow, state: MoveState, reason: str) -> MoveRow:
        return self._reconciler.to(row, state, reason)

    def _tell(self, row: MoveRow, sentence: str) -> None:
        if self._ties.listener is not None:
            self._ties.listener(MoveEvent(move=row, sentence=sentence))


def _to_begin(group: Iterable[MoveRow]) -> list[MoveRow]:
    """What of a group has yet to begin."""
    return [row for row in group if row.state in TO_BEGIN]


def _target(row: MoveRow, spaces: Mapping[str, Space]) -> Space | None:
    """The space that a move names, as far as it can take its bundle; None where it is gone."""
    target, container = spaces.get(row.move.to_space), row.move.route.bundle.container
    return without(target, container) if target is not None and container else target


def _of_all(group: Sequence[MoveRow], reason: str) -> str:
    """Why moves of a group are not begun, in a sentence that stands at each of them."""
    ordinals = f"{group[0].move.ordinal} to {group[-1].move.ordinal}"
    if not any(row.state in IN_PLACE for row in group):
        return f"moves {ordinals} are one group, of which nothing was moved: {reason}"
    return f"moves {ordinals} are one group, which cannot be completed: {reason}"
