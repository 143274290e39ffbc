"""Where a move stands, by the engine's catalog; removes leftovers and rolls back.

Moves that wait with something begun at the engine, which has to end with them.

A copy that waits for its last lock is kept for the next try and costs every change of its table meanwhile. Where no
next try follows, because the approval has ended or the move was cancelled, the approved statement ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace

from agent.ledger.errors import Stopped
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, StepState
from agent.ledger.state_names import HALF_DONE
from agent.model.states import ACTIONABLE, STARTING, MoveState
from agent.moving.attempt import Start, state_after, writing_session
from agent.moving.leftovers import Leftovers, Pauses
from agent.moving.transition_rules import NextTry, Transition, after_giving_up, after_interruption, leave_unknown
from connectors.kit.contract import Clock, Connector, ConnectorError, LeaseHeld, SeesBlockers
from connectors.model.moves import Step
from connectors.model.observation import Blocker, Home, Inspection

LONGEST_PAUSE_SECONDS = 300.0  # between two tries to end one


def half_done_of(ledger: Ledger, database: str) -> tuple[int, ...]:
    """Numbers of those moves of that database, by all that is known."""
    found = ledger.state.load_document(database, HALF_DONE)
    return () if found is None else tuple(found[1])


class HalfDone:
    """Those of one database, for the executor's thread alone."""

    def __init__(self, database: str, ledger: Ledger, clock: Clock) -> None:
        """Wire it up; they are remembered in the ledger."""
        self._database = database
        self._ledger = ledger
        self._pauses = Pauses(clock, LONGEST_PAUSE_SECONDS)
        self._known: tuple[int, ...] | None = None

    def note(self, move: int, inspection: Inspection, why: str = "") -> None:
        """Remember the move, or forget it where the catalog shows nothing of it any more; ``why``: it could not end."""
        begun = bool(inspection.unfinished)
        if why:
            self._pauses.put_off(move, why)
        if begun == (move in self.rows()):
            return
        self._known = tuple(sorted({*self.rows(), move} if begun else set(self.rows()) - {move}))
        self._ledger.state.save_document(self._database, HALF_DONE, list(self._known))

    def due(self) -> tuple[int, ...]:
        """Moves that no try follows any more and that are worth a look now."""
        return tuple(
            move
            for move in self.rows()
            # Not while the move may be tried again: its next try goes on with what was begun, and ending it would copy
            # everything once more.
            if not self._pauses.why(move) and self._ledger.moves.row(move).state not in ACTIONABLE
        )

    def rows(self) -> tuple[int, ...]:
        """All of them."""
        if self._known is None:
            self._known = half_done_of(self._ledger, self._database)
        return self._known


NOT_SEEN_TO_END = frozenset({StepState.INTENDED, StepState.UNKNOWN})
Tell = Callable[[MoveRow, str], None]


@dataclass(frozen=True, slots=True)
class MoveStanding:
    """Where a move stands after a try."""

    inspection: Inspection
    start: Start | None  # of the next try; None: it has arrived


class Reconciler:
    """Brings moves into agreement with the catalog. For the executor's thread alone."""

    def __init__(
        self,
        connector: Connector,
        ledger: Ledger,
        leftovers: Leftovers,
        half_done: HalfDone,
        tell: Tell,
        hold_lease: Callable[[], None],
    ) -> None:
        """Wire it up.

        Args:
            connector: over the moving account.
            ledger: the journal.
            leftovers: what interrupted moves left in the database.
            half_done: moves that wait with something begun.
            tell: receives what happens to a move.
            hold_lease: called before each statement; raises where another agent acts here by now.
        """
        self._connector = connector
        self._ledger = ledger
        self._leftovers = leftovers
        self._half_done = half_done
        self._tell = tell
        self._hold_lease = hold_lease

    def inspect(self, row: MoveRow) -> Inspection:
        """Where the bundle of the move is now."""
        return self._connector.inspect(row.move.route)

    def to(self, row: MoveRow, state: MoveState, reason: str) -> MoveRow:
        """Bring the move into another state and report it."""
        row = self._ledger.moves.transition(row.id, state, reason)
        if state not in STARTING:  # each statement reports itself as it starts
            self._tell(row, reason)
        return row

    def reconcile(self, row: MoveRow) -> MoveRow:
        """Bring an interrupted move into a state that agrees with the catalog."""
        inspection = None if row.state is MoveState.PRECHECK else self.inspect(row)
        row = self._apply(row, after_interruption(row.state, inspection))
        if inspection is None or row.state is not MoveState.UNKNOWN:
            return row
        # What looks like a leftover belongs to the statement for as long as the server works on it.
        if not inspection.running:
            inspection = self.tidy(row, inspection)
        self._note_begun(row, inspection)
        left = self._leftovers.sentence(row.id)
        step = leave_unknown(inspection, self._starts_without_end(row), left)
        if step.state is row.state:
            self._tell(row, step.reason)
        return self._apply(row, step)

    def give_up_held(self, row: MoveRow, ordinal: int, reason: str) -> MoveRow:
        """Roll back a move that the engine holds: by what tidies it, or else by the undo of the held statement.

        Raises:
            LeaseHeld: another agent acts here by now, and no statement was sent.
        """
        inspection = self.inspect(row)
        ends = self._approved_tidy(row, inspection)
        undo = row.move.route.steps[ordinal - 1].undo_sql
        if not ends and inspection.paused and undo:
            ends = (Step(sql=undo, purpose="give up what is held"),)
        try:
            self._send(row, ends, "given up")
        except LeaseHeld:
            raise
        except ConnectorError as error:
            self._tell(row, f"could not be given up: {error}")
            return row
        # Inspected again: that the statements were accepted does not say that everything is back where it was.
        step = after_giving_up(self.inspect(row), reason)
        if step.follow_up is NextTry.RECONCILE:
            return self.reconcile(row)
        if step.state is row.state:
            self._tell(row, step.reason)
        return self._apply(row, step)

    def blockers(self, row: MoveRow, *, tidying: bool = False) -> tuple[Blocker, ...]:
        """The sessions that block the statements of a move, where the engine reports them."""
        if not isinstance(self._connector, SeesBlockers):
            return ()
        return self._connector.blockers(row.move.route, tidying=tidying)

    def tidy(self, row: MoveRow, inspection: Inspection) -> Inspection:
        """Remove what an interrupted run left, with statements of the approval, and record what could not be removed.

        No statement is sent while a session blocks it: it would wait for the lock, and other sessions behind it.

        Returns:
            The inspection after that: removing leftovers may take back a bundle that had arrived.

        Raises:
            LeaseHeld: another agent acts here by now, and what looks like a leftover may be what it builds.
        """
        tidy, why = self._approved_tidy(row, inspection), ""
        if tidy and row.approved:
            why = in_words(self.blockers(row, tidying=True))
            if not why:
                why = self._try_to_send(row, tidy)
                inspection = self.inspect(row)
        if self._leftovers.note(row, inspection, {step.sql for step in tidy}, why):
            for left in self._leftovers.of(row.id):
                self._tell(row, left.sentence)
        return inspection

    def stays_untidy(self, row: MoveRow) -> bool:
        """Whether a leftover of an earlier try blocks the first statement of a move and cannot be removed now."""
        inspection = self.inspect(row)
        untidy = inspection.home is Home.SOURCE and not inspection.paused and bool(inspection.leftovers)
        return untidy and bool(self.tidy(row, inspection).leftovers)

    def tidy_later(self) -> None:
        """Look again at what ended moves have left, where that is due.

        Raises:
            ConnectorError: the engine did not answer.
        """
        for number in self._leftovers.due():
            row = self._ledger.moves.row(number)
            if self._connector.identify().fingerprint == row.fingerprint:  # else the server is another one today
                self.tidy(row, self.inspect(row))

    def end_half_done(self) -> None:
        """End what moves have begun that no try follows any more, by statements of their approval.

        Raises:
            ConnectorError: the engine did not answer.
        """
        for number in self._half_done.due():
            row = self._ledger.moves.row(number)
            if self._connector.identify().fingerprint == row.fingerprint:  # else the server is another one today
                self._end(row)

    def _note_begun(self, row: MoveRow, inspection: Inspection) -> None:
        """Only of a move one of whose own statements was done: what is open may be someone else's."""
        own = range(1, len(row.move.route.steps) + 1)
        if any(step.ordinal in own and step.state is StepState.DONE for step in self._ledger.moves.steps(row.id)):
            self._half_done.note(row.id, inspection)

    def _end(self, row: MoveRow) -> None:
        inspection = self.inspect(row)
        ends, why = self._approved_among(row, inspection.unfinished), ""
        if inspection.running:
            why = "the server still works on it"
        elif ends:
            why = self._try_to_send(row, ends, "ended")
            inspection = self.inspect(row)
        if why:
            self._tell(row, f"what it had begun could not be ended yet: {why}; {'; '.join(step.sql for step in ends)}")
        elif ends:
            self._tell(row, f"what it had begun was ended: {inspection.sentence}")
        self._half_done.note(row.id, inspection, why)

    def _try_to_send(self, row: MoveRow, tidy: tuple[Step, ...], result: str = "tidied up") -> str:
        """Send what tidies up; why that failed, "" where it did not."""
        try:
            self._send(row, tidy, result)
        except LeaseHeld:
            raise
        except (ConnectorError, Stopped) as error:
            return str(error)
        return ""

    def where_now(self, row: MoveRow) -> MoveStanding:
        """Where a move stands after a try that has failed, and where the next one would begin.

        What has arrived is not copied again: the next try begins at the last statement sent, and at the first one where
        nothing has arrived.
        """
        before = self.inspect(row)
        self._note_begun(row, before)
        # Not tidied: the paused statement goes on with what it has built so far.
        if before.paused:
            return MoveStanding(before, self.where_held(row))
        now = self.tidy(row, before)  # what is left would spoil the next try
        tidied = bool(before.leftovers) and not now.leftovers
        if now.finished or (now.home is Home.TARGET and tidied):
            return MoveStanding(now, None)
        # Part of it has arrived. The last statement sent is repeated, because it may be done only in part; those before
        # it are done, and what they copied is not copied again.
        if now.home is Home.TARGET or (now.home is Home.SPLIT and not before.leftovers):
            last = self._last_sent(row, range(1, len(row.move.route.steps) + 1))
            return MoveStanding(now, Start(ordinal=last))
        return MoveStanding(now, Start())

    def where_held(self, row: MoveRow) -> Start:
        """The statement that the journal speaks of last, of those that can be held."""
        held = {ordinal for ordinal, step in enumerate(row.move.route.steps, start=1) if step.pausable}
        return Start(ordinal=self._last_sent(row, held), held=True)

    def _apply(self, row: MoveRow, step: Transition) -> MoveRow:
        return row if step.state is row.state else self.to(row, step.state, step.reason)

    def _starts_without_end(self, row: MoveRow) -> int:
        """Statements of the move whose end was not seen."""
        # Counted from the journal and not in memory: what kills the agent each time would also restart its
        # count each time.
        return sum(step.state in NOT_SEEN_TO_END for step in self._ledger.moves.steps(row.id))

    def _last_sent(self, row: MoveRow, among: Container[int]) -> int:
        """The ordinal of the last of these statements that was sent; 1 where none was."""
        return next((step.ordinal for step in reversed(self._ledger.moves.steps(row.id)) if step.ordinal in among), 1)

    def _approved_tidy(self, row: MoveRow, inspection: Inspection) -> tuple[Step, ...]:
        return self._approved_among(row, inspection.leftovers)

    @staticmethod
    def _approved_among(row: MoveRow, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        # Compared as whole texts with what was approved: a statement that an inspection composes from the catalog may
        # name an object of someone else.
        approved = {sql for step in row.move.route.tidy_steps for sql in step.statements} if row.approved else set()
        return tuple(step for step in steps if step.sql in approved)

    def _send(self, row: MoveRow, steps: tuple[Step, ...], result: str) -> None:
        """Send statements that are not the move's own steps, each with an entry in the journal."""
        if not steps:
            return
        with writing_session(self._connector, row) as mover:
            mover.prepare(replace(row.move.route, steps=steps))
            # Numbered after the move's own steps, so that ``_last_sent`` never takes one of these for the place where
            # the move goes on.
            for ordinal, step in enumerate(steps, start=len(row.move.route.steps) + 1):
                self._hold_lease()
                journal = self._ledger.moves.step_intent(row.id, ordinal, step.sql)
                try:
                    mover.execute(step)
                except ConnectorError as error:
                    self._ledger.moves.step_result(journal, state_after(error), str(error))
                    raise
                self._ledger.moves.step_result(journal, StepState.DONE, result)


def in_words(blockers: Iterable[Blocker]) -> str:
    """The blockers that do not give way, each once, in one sentence; "" where there are none."""
    found = "; ".join(dict.fromkeys(blocker.sentence for blocker in blockers if not blocker.gives_way))
    return f"waits for {found}" if found else ""
