"""What became of a move, by the engine's catalog: settling what ended, tidying what was interrupted, giving up."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from agent.attempt import Start, state_after
from agent.ledger import Ledger, MoveRow, StepState
from agent.states import MoveState
from connectors.base import Connector, ConnectorError
from connectors.model import Home, Inspection, Step

MOST_STARTS = 5  # of a move that nobody ever saw end; a session that breaks in every try would copy for ever
Tell = Callable[[MoveRow, str], None]


class Reconciler:
    """Asks the catalog and believes it. For the executor's thread alone."""

    def __init__(self, connector: Connector, ledger: Ledger, tell: Tell) -> None:
        """Wire it up.

        Args:
            connector: over the moving account.
            ledger: the journal.
            tell: hears what happens to a move.
        """
        self._connector = connector
        self._ledger = ledger
        self._tell = tell

    def inspect(self, row: MoveRow) -> Inspection:
        """Where the bundle of the move is now."""
        return self._connector.inspect(row.move.route)

    def to(self, row: MoveRow, state: MoveState, reason: str) -> MoveRow:
        """Bring the move into another state, and say so."""
        row = self._ledger.moves.transition(row.id, state, reason)
        if state not in {MoveState.PRECHECK, MoveState.RUNNING}:  # steps are told one by one as they start
            self._tell(row, reason)
        return row

    def settle(self, row: MoveRow, remark: str = "") -> MoveRow:
        """Every statement succeeded: believe it only once the catalog says so."""
        inspection = self.tidy(row, self.inspect(row))
        if inspection.home is Home.TARGET and inspection.on_disk is not False:
            return self.to(row, MoveState.PLACED, " ".join(filter(None, (inspection.sentence, remark))))
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
        if row.state in {MoveState.RUNNING, MoveState.PAUSED}:
            ended = "the agent ended while it ran"
            was = ended if row.state is MoveState.RUNNING else "the engine no longer holds it"
            row = self.to(row, MoveState.UNKNOWN, was)
        if inspection.running:
            self._tell(row, "the server still works on it: asked again at the next cycle")
            return row
        inspection = self.tidy(row, inspection)
        match inspection.home:
            case Home.TARGET:
                return self.to(row, MoveState.PLACED, f"found done: {inspection.sentence}")
            case Home.SOURCE if row.attempts >= MOST_STARTS:
                return self.to(
                    row, MoveState.FAILED, f"begun {row.attempts} times and never done: {inspection.sentence}"
                )
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

    def tidy(self, row: MoveRow, inspection: Inspection) -> Inspection:
        """Remove what an interrupted run left behind, with statements that were part of the approval; name the rest.

        Returns:
            What is true then: tidying may have brought back what had arrived already.
        """
        tidy = self._approved_tidy(row, inspection)
        for step in inspection.leftovers:
            if step not in tidy:
                self._tell(row, f"left behind, to be removed by hand: {step.sql}")
        if not tidy or not row.approved:
            return inspection
        try:
            self._send(row, tidy, "tidied up")
        except ConnectorError as error:
            self._tell(row, f"could not tidy up ({error}); by hand: {'; '.join(step.sql for step in tidy)}")
        return self.inspect(row)

    def where_now(self, row: MoveRow) -> Start | None:
        """Where the next try begins: at what the engine holds, or where the last one ended; None: tidying did the rest.

        What has arrived is not copied again. Anew where nothing has, or where tidying has brought it back.
        """
        before = self.inspect(row)
        if before.paused:
            return self.where_held(row)
        now = self.tidy(row, before)  # it would spoil the next try
        tidied = bool(before.leftovers) and not now.leftovers
        if now.home is Home.TARGET and tidied:
            return None
        if now.home is Home.TARGET or (now.home is Home.SPLIT and not before.leftovers):
            return Start(ordinal=self._last_sent(row, range(1, len(row.move.route.steps) + 1)))
        return Start()

    def where_held(self, row: MoveRow) -> Start:
        """The statement that the journal speaks of last, of those that can be held."""
        held = {ordinal for ordinal, step in enumerate(row.move.route.steps, start=1) if step.pausable}
        return Start(ordinal=self._last_sent(row, held), held=True)

    def _last_sent(self, row: MoveRow, among: Container[int]) -> int:
        """The ordinal of the last of these statements that was sent; 1 where none was."""
        return next((step.ordinal for step in reversed(self._ledger.moves.steps(row.id)) if step.ordinal in among), 1)

    @staticmethod
    def _approved_tidy(row: MoveRow, inspection: Inspection) -> tuple[Step, ...]:
        approved = {step.sql for step in row.move.route.tidy_steps}
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
