"""One try at a move: its session, its statements in the journal, and who may stop or hold it meanwhile.

The statements run in the thread that calls ``run``. ``tend`` does what is wanted of the running one; a thread of the
attempt calls it ten times a second, and a simulation calls it from its clock.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agent.ledger.errors import Stopped
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, StepState
from agent.model.clock import repeat_in_background
from agent.moving.gate import Foreground
from agent.moving.transition_rules import Continuation
from connectors.kit.contract import (
    Clock,
    Connector,
    ConnectorError,
    HotplaceError,
    Interrupted,
    LeaseHeld,
    Mover,
    OutcomeUnknown,
    Paused,
    StatementFailed,
)
from connectors.model.moves import Step
from connectors.model.observation import Progress

TEND_EVERY_SECONDS = 0.1  # how soon what is wanted reaches the engine; asked again, as a call may come too early
HOLD_AGAIN_SECONDS = 2.0  # after the engine would not hold a statement; doubles
LONGEST_HOLD_AGAIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Start:
    """Where an attempt begins."""

    ordinal: int = 1
    held: bool = False  # the engine holds the statement of that ordinal; go on with it


@dataclass(slots=True)
class _Running:
    """A statement between its intent and its result."""

    ordinal: int
    step: Step
    hold_again_at: float = -math.inf  # on the monotonic clock; inf: the engine holds it by now
    hold_again_seconds: float = HOLD_AGAIN_SECONDS


class Attempt:
    """``run`` once. ``tend`` and ``progress`` from any thread."""

    def __init__(
        self,
        row: MoveRow,
        connector: Connector,
        ledger: Ledger,
        clock: Clock,
        *,
        want: Callable[[], Continuation],
        tell: Callable[[str], None],
        hold_lease: Callable[[], None],
        hopeless: Callable[[], str] = str,
    ) -> None:
        """Wire it up.

        Args:
            row: the move; RUNNING.
            connector: over the moving account.
            ledger: the journal.
            clock: time.
            want: asked again and again what is wanted now.
            tell: hears what happens, in sentences.
            hold_lease: called before each statement; raises where another agent acts here by now.
            hopeless: why the first statement should be given up for the sake of others; "": it need not.
        """
        self.row = row
        self._connector = connector
        self._ledger = ledger
        self._clock = clock
        self._want = want
        self._tell = tell
        self._hold_lease = hold_lease
        self._hopeless = hopeless
        self.given_up = ""  # why a statement was cancelled for the sake of others
        self._mover: Mover | None = None
        self._running: _Running | None = None
        self._tending = threading.Lock()
        self.not_held = ""  # why a statement that was to be held was let go on

    def run(self, start: Start) -> ConnectorError | None:
        """Send every statement from ``start`` on; the error that ended it, or None.

        Raises:
            LeaseHeld: another agent acts here by now. What is left of the move, and its state, are that one's.
        """
        route = self.row.move.route
        try:
            with writing_session(self._connector, self.row) as mover:
                self._mover = mover
                mover.prepare(route)
                with repeat_in_background(self._clock, TEND_EVERY_SECONDS, self.tend):
                    for ordinal, step in enumerate(route.steps, start=1):
                        if ordinal >= start.ordinal:
                            held = start.held and ordinal == start.ordinal
                            self._run_journalled(ordinal, step, mover, held=held)
        # Not returned like the others: an error that is returned is reconciled and may send what tidies up, and that is
        # the other agent's business now.
        except LeaseHeld:
            raise
        except ConnectorError as error:
            return error
        finally:
            self._mover = None
        return None

    def look_at(self, foreground: Foreground) -> None:
        """Look how long reads of sessions take, over the mover's second session."""
        if self._running is not None:  # before and after it the executor looks
            foreground.look(self._mover)

    def progress(self) -> Progress | None:
        """How far the running statement is."""
        mover = self._mover
        # Taken once: the thread of the statement may set it to None between the question and the call.
        return None if mover is None else mover.progress()

    def tend(self) -> None:
        """Do what is wanted of the running statement."""
        with self._tending:
            mover, running = self._mover, self._running
            if mover is None or running is None:
                return
            try:
                match self._want():
                    case Continuation.STOP:
                        mover.interrupt()
                    # Only the first: what follows it would leave the bundle halfway, which helps sessions less.
                    case _ if running.ordinal == 1 and (why := self._hopeless()):
                        self.given_up = why
                        mover.interrupt()
                    case Continuation.HOLD if not running.step.pausable:
                        self._not_held(f"a statement of this way ({self.row.move.route.name}) cannot be held")
                    case Continuation.HOLD if self._clock.monotonic() >= running.hold_again_at:
                        self._hold(mover, running)
            except HotplaceError as error:  # the statement goes on, and so do we
                self._tell(f"could not be stopped or held: {error}")

    def _hold(self, mover: Mover, running: _Running) -> None:
        """Journal that the statement is to be held, and have the engine do it, unless another agent acts here now."""
        self._hold_lease()
        journal = self._ledger.moves.step_intent(self.row.id, running.ordinal, running.step.pause_sql)
        running.hold_again_at = self._clock.monotonic() + running.hold_again_seconds
        # Asked ever more rarely: each try is a statement of its own with a row in the journal, and tend comes ten times
        # a second for hours.
        running.hold_again_seconds = min(LONGEST_HOLD_AGAIN_SECONDS, 2 * running.hold_again_seconds)
        try:
            held = mover.pause()
        except ConnectorError as error:
            self._ledger.moves.step_result(journal, StepState.FAILED, str(error))
            raise
        if held:
            running.hold_again_at = math.inf
        else:
            self._not_held("the engine could not hold it")
        self._ledger.moves.step_result(journal, *((StepState.DONE, "") if held else (StepState.FAILED, self.not_held)))

    def _not_held(self, why: str) -> None:
        """Say once why what was to be held goes on."""
        if why != self.not_held:
            self.not_held = why
            self._tell(f"is let finish: {why}")

    def _run_journalled(self, ordinal: int, step: Step, mover: Mover, *, held: bool) -> None:
        """Run one statement, or go on with it, between its intent and its result."""
        if self._want() is Continuation.STOP:
            raise Interrupted("it was stopped before a statement", advice="Nothing of that statement was sent.")
        # The lease before the journal: an agent that has lost it must not write about another agent's move.
        self._hold_lease()
        # The intent is committed before the statement is sent. After a crash, a statement without an intent was
        # certainly not sent; one with an intent and no result may have run, and the catalog decides.
        try:
            journal = self._ledger.moves.step_intent(self.row.id, ordinal, step.resume_sql if held else step.sql)
        except Stopped as error:  # a moment ago: as any other stop
            raise Interrupted(str(error), advice=error.advice) from error
        self._tell(f"goes on: {step.purpose}" if held else step.purpose)
        with self._tending:
            self._running = _Running(ordinal, step)
        try:
            if held:
                mover.resume(step)
            else:
                mover.execute(step)
        except ConnectorError as error:
            self._end(journal, state_after(error), str(error))
            raise
        self._end(journal, StepState.DONE, "")

    def _end(self, journal: int, state: StepState, detail: str) -> None:
        # First of all: an interrupt for a statement that has ended would hit whatever the session does next.
        with self._tending:
            self._running = None
        self._ledger.moves.step_result(journal, state, detail)


@contextmanager
def writing_session(connector: Connector, row: MoveRow) -> Iterator[Mover]:
    """A session that may write, on the very database for which the move was approved.

    Raises:
        StatementFailed: another one answers now, as after a restore from a copy.
        ConnectorError: the engine did not answer.
    """
    with connector.open_mover() as mover:
        # Asked once the session is there: it ends with its server, so what answers now is what it will speak to.
        if connector.identify().fingerprint != row.fingerprint:
            raise StatementFailed(
                "the server that answers now is not the database for which the move was approved; nothing was sent",
                advice="Find out which database the connection leads to.",
            )
        yield mover


def state_after(error: ConnectorError) -> StepState:
    """What the journal says of a statement that ended so."""
    if isinstance(error, OutcomeUnknown):
        return StepState.UNKNOWN
    return StepState.PAUSED if isinstance(error, Paused) else StepState.FAILED
