"""What became of a move, by the engine's catalog: settling what ended, tidying what was interrupted, giving up."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace

from agent.execution.attempt import Start, state_after
from agent.execution.leftovers import Leftovers
from agent.ledger import Ledger, MoveRow, StepState
from agent.model.states import AT_ENGINE, STARTING, MoveState
from connectors.base import Connector, ConnectorError, SeesBlockers
from connectors.model import Blocker, Home, Inspection, Step

MOST_STARTS = 5  # whose end was not seen: a session that breaks in every try would copy for ever
NOT_SEEN_TO_END = frozenset({StepState.INTENDED, StepState.UNKNOWN})
Tell = Callable[[MoveRow, str], None]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a move stands after a try."""

    inspection: Inspection
    start: Start | None  # of the next try; None: it has arrived


class Reconciler:
    """Asks the catalog and believes it. For the executor's thread alone."""

    def __init__(self, connector: Connector, ledger: Ledger, leftovers: Leftovers, tell: Tell) -> None:
        """Wire it up.

        Args:
            connector: over the moving account.
            ledger: the journal.
            leftovers: what moves have left behind.
            tell: hears what happens to a move.
        """
        self._connector = connector
        self._ledger = ledger
        self._leftovers = leftovers
        self._tell = tell

    def inspect(self, row: MoveRow) -> Inspection:
        """Where the bundle of the move is now."""
        return self._connector.inspect(row.move.route)

    def to(self, row: MoveRow, state: MoveState, reason: str) -> MoveRow:
        """Bring the move into another state, and say so."""
        row = self._ledger.moves.transition(row.id, state, reason)
        if state not in STARTING:  # steps are told one by one as they start
            self._tell(row, reason)
        return row

    def settle(self, row: MoveRow, remark: str = "") -> MoveRow:
        """Every statement succeeded: believe it only once the catalog says so."""
        inspection = self.tidy(row, self.inspect(row))
        if inspection.home is Home.TARGET and inspection.on_disk is not False:
            said = " ".join(filter(None, (inspection.sentence, remark)))
            return self.to(row, MoveState.PLACED, self._with_leftovers(row, said))
        return self.to(row, MoveState.FAILED, f"the statements succeeded, but {inspection.sentence}")

    def end_on_the_way(self, row: MoveRow, error: ConnectorError, inspection: Inspection) -> MoveRow:
        """Something ended it while statements were left, and the bundle is not where it was: say what the catalog does.

        Args:
            row: the move; RUNNING.
            error: what ended it.
            inspection: where the bundle is; neither at its source nor gone.
        """
        if inspection.home is Home.TARGET:
            return self.to(row, MoveState.PLACED, f"{inspection.sentence} Not everything behind it was done: {error}")
        return self.to(row, MoveState.FAILED, " ".join(filter(None, (f"{error}; {inspection.sentence}", error.advice))))

    def reconcile(self, row: MoveRow) -> MoveRow:
        """Bring an interrupted move into a state that agrees with the catalog."""
        if row.state is MoveState.PRECHECK:
            return self.to(row, MoveState.APPROVED, "interrupted before its first statement")
        inspection = self.inspect(row)
        if inspection.paused:
            return row if row.state is MoveState.PAUSED else self.to(row, MoveState.PAUSED, "found held by the engine")
        if row.state in AT_ENGINE:
            ended = "the agent ended while it ran"
            was = ended if row.state is MoveState.RUNNING else "the engine no longer holds it"
            row = self.to(row, MoveState.UNKNOWN, was)
        if inspection.running:
            self._tell(row, "the server still works on it: asked again at the next cycle")
            return row
        inspection = self.tidy(row, inspection)
        match inspection.home:
            case Home.TARGET:
                return self.to(row, MoveState.PLACED, self._with_leftovers(row, f"found done: {inspection.sentence}"))
            case Home.SOURCE if (starts := self._starts_without_end(row)) >= MOST_STARTS:
                return self.to(row, MoveState.FAILED, f"begun {starts} times and never done: {inspection.sentence}")
            case Home.SOURCE:
                return self.to(row, MoveState.APPROVED, f"found not done: {inspection.sentence}")
            case _:
                return self.to(row, MoveState.FAILED, inspection.sentence)

    def give_up_held(self, row: MoveRow, ordinal: int, reason: str) -> MoveRow:
        """Roll back a move that the engine holds: by what tidies it, or else by the undo of the held statement."""
        inspection = self.inspect(row)
        ends = self._approved_tidy(row, inspection)
        undo = row.move.route.steps[ordinal - 1].undo_sql
        if not ends and inspection.paused and undo:
            ends = (Step(sql=undo, purpose="give up what is held"),)
        try:
            self._send(row, ends, "given up")
        except ConnectorError as error:
            self._tell(row, f"could not be given up: {error}")
            return row
        inspection = self.inspect(row)
        if inspection.paused or inspection.running:
            self._tell(row, "the engine still holds it; end it by hand")
            return row
        if inspection.home is Home.SOURCE:
            return self.to(row, MoveState.CANCELLED, f"{reason}; {inspection.sentence}")
        return self.reconcile(row)

    def blockers(self, row: MoveRow, *, tidying: bool = False) -> tuple[Blocker, ...]:
        """What the statements of a move would wait for, as far as the engine tells."""
        if not isinstance(self._connector, SeesBlockers):
            return ()
        return self._connector.blockers(row.move.route, tidying=tidying)

    def tidy(self, row: MoveRow, inspection: Inspection) -> Inspection:
        """Remove what an interrupted run left behind, by statements of the approval, and remember what stays.

        Nothing is sent while something is in the way: it would wait, and others behind it.

        Returns:
            What is true then: tidying may have brought back what had arrived already.
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
        """Whether something from before the first statement of a move is in its way, and cannot be removed now."""
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

    def _try_to_send(self, row: MoveRow, tidy: tuple[Step, ...]) -> str:
        """Send what tidies up; why that failed, "" where it did not."""
        try:
            self._send(row, tidy, "tidied up")
        except ConnectorError as error:
            return str(error)
        return ""

    def where_now(self, row: MoveRow) -> Standing:
        """Where a move stands after a try that has failed, and where the next one would begin.

        What has arrived is not copied again. From the start where nothing has, or where tidying has brought it back.
        """
        before = self.inspect(row)
        if before.paused:
            return Standing(before, self.where_held(row))
        now = self.tidy(row, before)  # what is left would spoil the next try
        tidied = bool(before.leftovers) and not now.leftovers
        if now.finished or (now.home is Home.TARGET and tidied):
            return Standing(now, None)
        if now.home is Home.TARGET or (now.home is Home.SPLIT and not before.leftovers):
            last = self._last_sent(row, range(1, len(row.move.route.steps) + 1))
            return Standing(now, Start(ordinal=last))
        return Standing(now, Start())

    def where_held(self, row: MoveRow) -> Start:
        """The statement that the journal speaks of last, of those that can be held."""
        held = {ordinal for ordinal, step in enumerate(row.move.route.steps, start=1) if step.pausable}
        return Start(ordinal=self._last_sent(row, held), held=True)

    def _with_leftovers(self, row: MoveRow, sentence: str) -> str:
        left = self._leftovers.sentence(row.id)
        return f"{sentence.rstrip('.')}; {left}" if left else sentence

    def _starts_without_end(self, row: MoveRow) -> int:
        """Statements of the move whose end was not seen."""
        return sum(step.state in NOT_SEEN_TO_END for step in self._ledger.moves.steps(row.id))

    def _last_sent(self, row: MoveRow, among: Container[int]) -> int:
        """The ordinal of the last of these statements that was sent; 1 where none was."""
        return next((step.ordinal for step in reversed(self._ledger.moves.steps(row.id)) if step.ordinal in among), 1)

    @staticmethod
    def _approved_tidy(row: MoveRow, inspection: Inspection) -> tuple[Step, ...]:
        approved = {sql for step in row.move.route.tidy_steps for sql in step.statements}
        return tuple(step for step in inspection.leftovers if step.sql in approved)

    def _send(self, row: MoveRow, steps: tuple[Step, ...], result: str) -> None:
        """Statements beside the move's own, each in the journal."""
        if not steps:
            return
        with self._connector.open_mover() as mover:
            mover.prepare(replace(row.move.route, steps=steps))
            for ordinal, step in enumerate(steps, start=len(row.move.route.steps) + 1):
                journal = self._ledger.moves.step_intent(row.id, ordinal, step.sql)
                try:
                    mover.execute(step)
                except ConnectorError as error:
                    self._ledger.moves.step_result(journal, state_after(error), str(error))
                    raise
                self._ledger.moves.step_result(journal, StepState.DONE, result)


def in_words(blockers: Iterable[Blocker]) -> str:
    """Those that do not give way, in one sentence; "" where there are none."""
    found = "; ".join(blocker.sentence for blocker in blockers if not blocker.gives_way)
    return f"waits for {found}" if found else ""
