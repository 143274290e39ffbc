"""From placed to kept: settled moves are measured against their prediction; for moves that hurt, an undo is proposed.

The agent may die between any two lines: an outcome is written down once for each move, and a move leaves SETTLING
last, so that the next agent goes on where this one ended.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from agent.config import DatabaseConfig, Level
from agent.ledger import Ledger, MoveRow
from agent.ledger.state_names import work_before_proposal
from agent.ledger.work import rates_text
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.model.proposals import CONTAINER, UNDO, WAY_BACK, Proposal
from agent.model.states import ACTIONABLE, IN_PLACE, MoveState
from agent.planning.undo import CannotUndo, propose_undo
from agent.verification.carried_moves import carried_out
from agent.verification.partial_forecast import forecast_of_moves
from agent.verification.verifier import MINIMUM_WINDOW_SECONDS, measure
from connectors.base import Clock, Connector
from connectors.model import DatabaseDemand
from policies.demand.workload import average
from policies.model.plan import MoveReason

MEASURED_OVER_SETTLE = 1.0  # the outcome is measured for as long as the settle time lasted
SEEN_OVER_SETTLE = 0.5  # of the settle time must have been sampled: agents stop, and databases are down
ASKED_FOR = frozenset(
    {UNDO, WAY_BACK, CONTAINER, MoveReason.PIN, MoveReason.DRAIN, MoveReason.GROWTH}
)  # undone only on request


class Settling:
    """The moves of one database that have arrived and are not judged yet."""

    def __init__(self, database: DatabaseConfig, ledger: Ledger, clock: Clock, level: Level, *, asked_by: str) -> None:
        """Wire it up.

        Args:
            database: its configuration.
            ledger: the durable record.
            clock: time.
            level: how far the agent goes unattended; one that only observes proposes no undo.
            asked_by: who gave the command that this is part of; "": no command.
        """
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._level = level
        self._asked_by = asked_by

    def store_work_before(self, proposal_id: int) -> None:
        """Keep how much sessions waited before the first move, once per proposal: the agent may restart in between."""
        if self._ledger.state.load_document(self._database.name, work_before_proposal(proposal_id)) is None:
            seen = self._ledger.work.since(self._database.name, self._compared_since())
            plain = json.loads(rates_text(average(seen)))
            self._ledger.state.save_document(self._database.name, work_before_proposal(proposal_id), plain)

    def _compared_since(self) -> datetime:
        """From when on demand counts as before a proposal's moves: the half-life, but not what came before others'."""
        since = self._clock.now() - timedelta(seconds=self._database.policy_settings().half_life_seconds)
        # What was seen before another proposal's moves already differs by their gain, which would be credited to this
        # one.
        return max([since, *self._ledger.moves.last_moved(self._database.name).values()])

    def begin(self) -> None:
        """Let what is placed settle."""
        for row in self._ledger.moves.rows(database=self._database.name, states={MoveState.PLACED}):
            self._ledger.moves.transition(row.id, MoveState.SETTLING, "caches warm up before anything is measured")

    def judge(self, connector: Connector) -> tuple[Outcome, ...]:
        """Measure the proposals whose moves are all through and settled.

        Raises:
            ConnectorError: the engine was asked for a way back and did not answer.
        """
        settling = self._ledger.moves.rows(database=self._database.name, states={MoveState.SETTLING})
        outcomes = []
        # A proposal is judged as a whole: its moves share caches and devices, so their gains cannot be separated.
        for number in dict.fromkeys(row.proposal_id for row in settling):
            rows = [row for row in settling if row.proposal_id == number]
            outcome = self._outcome(number, rows)
            if outcome is not None:
                self._conclude(rows, outcome, connector)
                outcomes.append(outcome)
        return tuple(outcomes)

    def _outcome(self, proposal_id: int, rows: Sequence[MoveRow]) -> Outcome | None:
        """What was measured, written down for every move; None while it is too early."""
        waiting = self._ledger.moves.rows(proposal_id=proposal_id, states=ACTIONABLE)
        settled_at = max(row.updated_at for row in rows) + timedelta(seconds=self._database.settle_seconds)
        window = (self._clock.now() - settled_at).total_seconds()
        # Nothing is judged while a move of the proposal may still begin: before and after would be compared across a
        # half-made change.
        if waiting or window < self._database.settle_seconds * MEASURED_OVER_SETTLE:
            return None
        after = self._ledger.work.since(self._database.name, settled_at)
        seen = sum(interval.seconds for interval in after)
        if seen < _minimum_sampled_seconds(self._database.settle_seconds):
            return None
        proposal = self._ledger.proposals.row(proposal_id).proposal
        measured = self._ledger.moves.outcomes_of([row.id for row in rows])
        known = {number: each.outcome for number, each in measured.items()}  # by an agent that died behind it
        outcome = next(iter(known.values()), None)
        if outcome is None:
            stored = self._ledger.state.load_document(self._database.name, work_before_proposal(proposal_id))
            before = DatabaseDemand(**(stored[1] if stored else {}))
            ran = self._carried_out(proposal_id, proposal)
            outcome = measure(ran, before, average(after), seen, proposed=len(proposal.moves))
        # The outcome of an agent that died half-way stands for the rest too: measured again it would differ a little.
        for row in rows:
            if row.id not in known:
                self._ledger.moves.record_outcome(row.id, outcome)
        return outcome

    def _carried_out(self, proposal_id: int, proposal: Proposal) -> Proposal:
        """What was predicted for the moves that are in place now: others were struck, cancelled, skipped or failed."""
        there = [row.move for row in self._ledger.moves.rows(proposal_id=proposal_id, states=IN_PLACE)]
        found = forecast_of_moves(self._ledger, proposal_id, proposal, there)
        return replace(carried_out(proposal, {move.ordinal for move in there}), forecast=found)

    def _conclude(self, rows: Sequence[MoveRow], outcome: Outcome, connector: Connector) -> None:
        """Propose to take back what hurt, then keep the rest."""
        # The undo before KEPT: an agent that dies between the two proposes it again, and the same work is stored once.
        # The other way round the move would stay for good.
        if outcome.verdict is OutcomeVerdict.HURT and self._level is not Level.OBSERVE:
            self._propose_undo([row for row in rows if row.move.reason not in ASKED_FOR], connector)
        # Read again: storing the undo has brought the moves that it takes back to UNDO_PROPOSED.
        for row in rows:
            if self._ledger.moves.row(row.id).state is MoveState.SETTLING:
                self._ledger.moves.transition(row.id, MoveState.KEPT, outcome.sentence)

    def _propose_undo(self, rows: Sequence[MoveRow], connector: Connector) -> None:
        """For a person to approve."""
        if not rows:
            return
        now = self._clock.now()
        try:
            propose_undo(rows, self._database, connector, self._ledger, now, asked_by=self._asked_by)
        except CannotUndo as error:
            self._ledger.audit.record("undo.impossible", f"proposal {rows[0].proposal_id}", why=str(error))


def _minimum_sampled_seconds(settle_seconds: float) -> float:
    """How long must have been sampled, in seconds: long enough to measure, unless settling is shorter still."""
    return min(settle_seconds, max(settle_seconds * SEEN_OVER_SETTLE, MINIMUM_WINDOW_SECONDS))
