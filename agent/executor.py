"""Carries out approved moves: precheck, journal the intent, act, ask the catalog, journal the result.

The executor is the only caller of ``Connector.open_mover``, and it opens one only for a move that the ledger holds as
approved. Whatever interrupts it, the ledger knows what was about to happen, and ``reconcile`` asks the catalog.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.attempt import Attempt, Start, Want
from agent.config import DatabaseConfig
from agent.ledger import Ledger, MoveRow, StepState
from agent.precheck import Facts, Refused, precheck
from agent.states import UNFINISHED, MoveState
from connectors.base import Clock, Connector, ConnectorError, Paused, Retry
from connectors.model import Home, Inspection, Progress, Route

FIRST_PAUSE_SECONDS = 0.5  # between tries; doubles, because whoever holds the lock needs time
LONGEST_PAUSE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveEvent:
    """Something happened to a move; for progress on a terminal and for the log."""

    move: MoveRow
    sentence: str


Listener = Callable[[MoveEvent], None]


class Executor:
    """The hands on one database. ``run_approved`` from one thread; ``stop`` and ``hold`` from any."""

    def __init__(
        self,
        database: DatabaseConfig,
        connector: Connector,
        ledger: Ledger,
        clock: Clock,
        *,
        disturb: Callable[[], None],
        listener: Listener | None = None,
    ) -> None:
        """Wire it up.

        Args:
            database: its configuration.
            connector: over the moving account; reads here are the executor's own, not the sampler's.
            ledger: the journal.
            clock: time.
            disturb: called before and after every statement, so that our own I/O is not taken for demand.
            listener: told of everything that happens to a move.
        """
        self._database = database
        self._connector = connector
        self._ledger = ledger
        self._clock = clock
        self._disturb = disturb
        self._listener = listener
        self._stopping = threading.Event()
        self._hold_reason = ""
        self._attempt: Attempt | None = None

    def reconcile(self) -> tuple[MoveRow, ...]:
        """Bring every move that was interrupted into a state that agrees with the catalog.

        Raises:
            ConnectorError: the engine did not answer; the moves stay as they are.
        """
        rows = self._ledger.moves(database=self._database.name, states=UNFINISHED)
        return tuple(self._reconcile(row) for row in rows)

    def run_approved(self) -> tuple[MoveRow, ...]:
        """Carry out every approved move of this database in order; returns the rows as they ended.

        What is held goes on first, unless it is to stay held; while anything is unfinished nothing else begins.

        Raises:
            ConnectorError: the engine did not answer before anything was started.
        """
        unfinished = [row for row in self.reconcile() if row.state in UNFINISHED]
        if any(row.state is not MoveState.PAUSED for row in unfinished):
            return ()  # the server still works on one of ours; one at a time
        done = [self._go_on(row) for row in unfinished if self._want() is Want.GO_ON]
        if len(done) < len(unfinished) or any(row.state in UNFINISHED for row in done):
            return tuple(done)
        self._ledger.expire_due()
        for row in self._ledger.moves(database=self._database.name, states={MoveState.APPROVED}):
            if self._want() is not Want.GO_ON:
                break
            done.append(self._run(row))
            if done[-1].state in UNFINISHED:
                break
        return tuple(done)

    def stop(self) -> None:
        """Start nothing more and cancel what runs, within a moment; the engine rolls it back."""
        self._stopping.set()

    def hold(self, reason: str) -> None:
        """Start nothing more, and have the engine hold what runs; what it cannot hold is let finish."""
        self._hold_reason = reason

    def allow(self) -> None:
        """Allow moves again after ``stop`` and ``hold``."""
        self._stopping.clear()
        self._hold_reason = ""

    def tend(self) -> None:
        """Have what runs stopped or held if that is wanted. Safe from any thread."""
        if self._attempt is not None:
            self._attempt.tend()

    def progress(self) -> Progress | None:
        """How far the running statement is. Safe from another thread."""
        attempt = self._attempt
        return None if attempt is None else attempt.progress()

    def _want(self) -> Want:
        if self._stopping.is_set():
            return Want.STOP
        return Want.HOLD if self._hold_reason else Want.GO_ON

    def _run(self, row: MoveRow) -> MoveRow:
        row = self._to(row, MoveState.PRECHECK, "looking at what is true now")
        answer = precheck(row, self._facts(row))
        if isinstance(answer, Refused):
            return self._to(row, MoveState.SKIPPED, answer.sentence)
        row = self._to(row, MoveState.RUNNING, f"{len(row.move.route.steps)} statement(s) by {row.move.route.name}")
        return self._try(row, Start())

    def _go_on(self, row: MoveRow) -> MoveRow:
        """Go on with a move that the engine holds."""
        row = self._to(row, MoveState.RUNNING, "goes on where it was held")
        return self._try(row, self._where_held(row))

    def _try(self, row: MoveRow, start: Start) -> MoveRow:
        """As often as is allowed and sensible; the row as it ended."""
        for attempt in range(1, self._database.retries + 1):
            error = self._send(row, start)
            if error is None:
                return self._settle_truth(row)
            if isinstance(error, Paused):
                return self._to(row, MoveState.PAUSED, self._hold_reason or str(error))
            if error.retry is not Retry.LATER or self._stopping.is_set() or attempt == self._database.retries:
                return self._give_up(row, error, attempt)
            pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
            self._tell(row, f"{error}; try {attempt + 1} of {self._database.retries} in {pause:.1f} s")
            start = self._where_now(row)
            self._clock.sleep(pause)
        raise AssertionError("the loop above always returns")

    def _send(self, row: MoveRow, start: Start) -> ConnectorError | None:
        """One attempt; the error that ended it, or None."""
        self._attempt = Attempt(
            row, self._connector, self._ledger, self._clock,
            want=self._want, tell=lambda sentence: self._tell(row, sentence),
        )  # fmt: skip
        self._disturb()
        try:
            return self._attempt.run(start)
        finally:
            self._attempt = None
            self._disturb()

    def _where_now(self, row: MoveRow) -> Start:
        """Where the next try begins: at what the engine holds, or anew when what the last one left is tidied up."""
        inspection = self._connector.inspect(row.move.route)
        if inspection.paused:
            return self._where_held(row)
        self._tidy(row, inspection)  # it would spoil the next try
        return Start()

    def _where_held(self, row: MoveRow) -> Start:
        """The statement that the journal speaks of last, of those that can be held."""
        held = {ordinal for ordinal, step in enumerate(row.move.route.steps, start=1) if step.pausable}
        known = [step.ordinal for step in self._ledger.steps(row.id) if step.ordinal in held]
        return Start(ordinal=known[-1] if known else 1, held=True)

    def _settle_truth(self, row: MoveRow) -> MoveRow:
        """Every statement succeeded: believe it only once the catalog says so."""
        inspection = self._connector.inspect(row.move.route)
        self._tidy(row, inspection)
        if inspection.home is Home.TARGET and inspection.on_disk is not False:
            return self._to(row, MoveState.PLACED, inspection.sentence)
        return self._to(row, MoveState.FAILED, f"the statements succeeded, but {inspection.sentence}")

    def _give_up(self, row: MoveRow, error: ConnectorError, attempts: int) -> MoveRow:
        if error.retry is Retry.RECONCILE:
            return self._reconcile(self._to(row, MoveState.UNKNOWN, str(error)))
        inspection = self._connector.inspect(row.move.route)
        if inspection.paused:
            return self._to(row, MoveState.PAUSED, f"{error}; the engine holds what is done so far")
        self._tidy(row, inspection)
        if self._stopping.is_set():
            return self._to(row, MoveState.APPROVED, f"{error}; nothing changed, it goes on after a restart")
        tries = f" ({attempts} tries)" if attempts > 1 else ""
        return self._to(row, MoveState.FAILED, " ".join(filter(None, (f"{error}{tries}.", error.advice))))

    def _reconcile(self, row: MoveRow) -> MoveRow:
        """Ask the catalog what became of an interrupted move, and believe it."""
        if row.state is MoveState.PRECHECK:
            return self._to(row, MoveState.APPROVED, "interrupted before its first statement")
        inspection = self._connector.inspect(row.move.route)
        if inspection.paused:
            return row if row.state is MoveState.PAUSED else self._to(row, MoveState.PAUSED, "found held by the engine")
        if row.state in {MoveState.RUNNING, MoveState.PAUSED}:
            was = "the agent ended while it ran" if row.state is MoveState.RUNNING else "the engine no longer holds it"
            row = self._to(row, MoveState.UNKNOWN, was)
        if inspection.running:
            self._tell(row, "the server still works on it: asked again at the next cycle")
            return row
        self._tidy(row, inspection)
        match inspection.home:
            case Home.TARGET:
                return self._to(row, MoveState.PLACED, f"found done: {inspection.sentence}")
            case Home.SOURCE:
                return self._to(row, MoveState.APPROVED, f"found not done: {inspection.sentence}")
            case _:
                return self._to(row, MoveState.FAILED, inspection.sentence)

    def _tidy(self, row: MoveRow, inspection: Inspection) -> None:
        """Remove what an interrupted run left behind, with statements that were part of the approval; name the rest."""
        approved = {step.sql for step in row.move.route.tidy_steps}
        tidy = tuple(step for step in inspection.leftovers if step.sql in approved)
        for step in inspection.leftovers:
            if step.sql not in approved:
                self._tell(row, f"left behind, to be removed by hand: {step.sql}")
        if not tidy or not row.approved:
            return
        try:
            self._run_tidy(row, replace(row.move.route, steps=tidy))
        except ConnectorError as error:
            self._tell(row, f"could not tidy up ({error}); by hand: {'; '.join(step.sql for step in tidy)}")

    def _run_tidy(self, row: MoveRow, route: Route) -> None:
        with self._connector.open_mover() as mover:
            mover.prepare(route)
            for ordinal, step in enumerate(route.steps, start=len(row.move.route.steps) + 1):
                journal = self._ledger.step_intent(row.id, ordinal, step.sql)
                mover.execute(step)
                self._ledger.step_result(journal, StepState.DONE, "tidied up")

    def _facts(self, row: MoveRow) -> Facts:
        catalog = self._connector.catalog()
        storage = self._database.resolve_spaces(catalog)
        target = next((space for space in storage.spaces if space.name == row.move.to_space), None)
        return Facts(
            now=self._clock.now(),
            fingerprint=self._connector.identify().fingerprint,
            inspection=self._connector.inspect(row.move.route),
            target=target,
            head_room_ratio=self._database.policy_settings().head_room_ratio,
        )

    def _to(self, row: MoveRow, state: MoveState, reason: str) -> MoveRow:
        row = self._ledger.transition(row.id, state, reason)
        if state not in {MoveState.PRECHECK, MoveState.RUNNING}:  # steps are told one by one as they start
            self._tell(row, reason)
        return row

    def _tell(self, row: MoveRow, sentence: str) -> None:
        if self._listener is not None:
            self._listener(MoveEvent(move=row, sentence=sentence))
