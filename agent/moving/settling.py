"""From placed to kept: settled moves are measured against their prediction; for moves that hurt, an undo is proposed.

The agent may die between any two lines: an outcome is written down once for each move, and a move leaves SETTLING
last, so that the next agent goes on where this one ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from agent.config.models import DatabaseConfig, Level
from agent.ledger.errors import Untrusted
from agent.ledger.ledger import Ledger
from agent.ledger.measured.samples import rates_text
from agent.ledger.rows import MoveRow
from agent.ledger.state_names import work_before_proposal
from agent.model.logs import EventLog
from agent.model.outcomes import Outcome, OutcomeVerdict
from agent.model.proposals import CLOSE_PART, CONTAINER, ROLLING, SPACE, SPLIT, UNDO, WAY_BACK, CannotUndo, Proposal
from agent.model.states import IN_HAND, IN_PLACE, MoveState
from agent.moving.control import find_control
from agent.moving.effect import LEAST_BEFORE, check, effect_of, verdict_of
from agent.moving.evidence import EvidenceReader, Evidences, OutcomeLook, OwnFigures, next_look, own_figures, with_own
from agent.moving.statement_effects import StatementLoad, compare_statements
from agent.moving.statement_texts import keep_texts
from agent.moving.verifier import carried_out, forecast_of_moves, measure, with_statements
from agent.planning.undo import propose_undo
from agent.sampling.picture import UnitHomes
from connectors.kit.contract import Clock, Connector
from connectors.model.observation import DatabaseDemand, Home
from policies.evidence.workload import average
from policies.model.moves import MoveReason

log = EventLog(__name__)
ASKED_FOR = frozenset(
    {UNDO, WAY_BACK, CONTAINER, ROLLING, SPLIT, CLOSE_PART, SPACE, MoveReason.PIN, MoveReason.DRAIN, MoveReason.GROWTH}
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
        self._looked: dict[int, float] = {}  # seconds of the last look at each proposal that could not tell

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

    def see_handed_over(self, connector: Connector, places: Callable[[], Mapping[str, str] | None]) -> None:
        """Bring moves that a person has carried out to PLACED, as the catalog shows them; expire what came too late.

        Args:
            connector: asked about moves that seem to have arrived.
            places: the space of each unit by the last catalog, by key; None: not known yet.

        Raises:
            ConnectorError: the engine did not answer.
        """
        rows = self._ledger.moves.rows(database=self._database.name, states={MoveState.HANDED_OVER})
        where = places() if rows else None
        if where is None:
            return
        for number in {row.proposal_id for row in rows}:
            self.store_work_before(number)
        for row in rows:
            bundle = row.move.route.bundle
            # The last catalog first: to ask about each move at every sample may read slow views.
            if not all(where.get(key) == row.move.to_space for key in bundle.unit_keys):
                continue
            found = connector.inspect(row.move.route)
            if found.home is Home.TARGET and not (found.running or found.paused) and self._is_believed(row):
                reason = f"{found.sentence}: a person carried it out"
                self._ledger.moves.transition(row.id, MoveState.PLACED, reason)
        self._ledger.proposals.expire_due()

    def _is_believed(self, row: MoveRow) -> bool:
        """Whether the chain holds that a move was approved, and handed over: no forged row is measured."""
        try:
            self._ledger.moves.require_trust(row, begins=False)
        except Untrusted as error:
            log.warning("handed-over move not believed", database=row.database, move=row.id, error=str(error))
            return False
        return True

    def begin(self) -> None:
        """Let what is placed settle."""
        for row in self._ledger.moves.rows(database=self._database.name, states={MoveState.PLACED}):
            self._ledger.moves.transition(row.id, MoveState.SETTLING, "caches warm up before anything is measured")

    def judge(self, connector: Connector, homes: Callable[[], UnitHomes | None]) -> tuple[Outcome, ...]:
        """Measure the proposals whose moves are all through and settled.

        Args:
            connector: asked for a way back of what hurt.
            homes: where units are now.

        Raises:
            ConnectorError: the engine was asked for a way back and did not answer.
        """
        settling = self._ledger.moves.rows(database=self._database.name, states={MoveState.SETTLING})
        outcomes = []
        for number in dict.fromkeys(row.proposal_id for row in settling):
            rows = [row for row in settling if row.proposal_id == number]
            outcome = self._outcome(number, rows, homes)
            if outcome is not None:
                keep_texts(self._ledger, self._database, connector, outcome)
                self._conclude(rows, outcome, connector)
                outcomes.append(outcome)
        return tuple(outcomes)

    def _outcome(
        self, proposal_id: int, rows: Sequence[MoveRow], homes: Callable[[], UnitHomes | None]
    ) -> Outcome | None:
        """What was measured, written down for every move; None while it is too early or no conclusion is possible."""
        measured = self._ledger.moves.outcomes_of([row.id for row in rows])
        known = {number: each.outcome for number, each in measured.items()}  # by an agent that died behind it
        # Nothing is judged while a move of the proposal may still begin: before and after would be compared across a
        # half-made change.
        if self._ledger.moves.rows(proposal_id=proposal_id, states=IN_HAND):
            return None
        look = next_look(self._ledger, self._database, rows, self._clock.now(), self._looked.get(proposal_id, 0.0))
        if look is None:
            return None
        outcome, own, evidence = self._measure(proposal_id, look, homes())
        hopeless = len(evidence.before.with_reads()) < LEAST_BEFORE  # more time can tell no more
        if outcome.verdict is OutcomeVerdict.CANNOT_TELL and not (look.last or known or hopeless):
            self._looked[proposal_id] = look.seconds
            return None
        # The outcome of an agent that died half-way stands for the rest too: measured again it would differ a little.
        outcome = next(iter(known.values()), None) or self._with_statements(look, outcome, evidence)
        for row in rows:
            if row.id not in known:
                self._ledger.moves.record_outcome(row.id, with_own(outcome, own.get(row.id)))
        self._looked.pop(proposal_id, None)
        return outcome

    def _measure(
        self, proposal_id: int, look: OutcomeLook, homes: UnitHomes | None
    ) -> tuple[Outcome, dict[int, OwnFigures | None], Evidences]:
        """The outcome of a proposal, the figures of each of its moves, and what it rests on."""
        name, work = self._database.name, self._ledger.work
        joint = look.joint
        reader = EvidenceReader(self._ledger, name, homes, joint)
        evidence = reader.read(look.before, look.after)
        days, units = reader.history(*look.history, beside=evidence)
        known, later = (self._ledger.statements.between(name, *side) for side in (look.history, look.after))
        control = None if units is None else find_control(known, later, units)
        shares = evidence.moved_after.shares()
        mine = [at for at, row in enumerate(joint) if row.proposal_id == proposal_id]
        effect = effect_of(days, evidence.after, control)
        if effect is not None and verdict_of(effect, last=look.last) in (OutcomeVerdict.HELPED, OutcomeVerdict.HURT):
            effect = check(effect, days, control)
        stored = self._ledger.state.load_document(name, work_before_proposal(proposal_id))
        before = DatabaseDemand(**(stored[1] if stored else {}))
        after = work.between(name, *look.after)
        outcome = measure(
            self._carried_out(proposal_id, self._ledger.proposals.row(proposal_id).proposal), before, average(after),
            sum(interval.seconds for interval in after), effect=effect,
            seen=(len(days.with_reads()), len(evidence.after.with_reads())),
            joint_share=1.0 if len(mine) == len(joint) else float(shares[mine].sum()),
            proposed=len(self._ledger.proposals.row(proposal_id).proposal.moves), last=look.last,
            by_hour=evidence.by_hour, split=evidence.split,
            elsewhere=self._ledger.samples.is_divided and stored is not None and not len(days),
        )  # fmt: skip
        own = {joint[at].id: own_figures(evidence, effect, at) for at in mine}
        return outcome, own, evidence

    def _with_statements(self, look: OutcomeLook, outcome: Outcome, evidence: Evidences) -> Outcome:
        """The outcome with what became of single statements, where the engine tells them apart."""
        before, after = (
            self._ledger.statements.between(self._database.name, *side) for side in (look.before, look.after)
        )
        if not (before and after):
            return outcome
        compared = compare_statements(before, after, StatementLoad.of(evidence), by_execution=evidence.split)
        return with_statements(outcome, compared)

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
            number = propose_undo(rows, self._database, connector, self._ledger, now, asked_by=self._asked_by)
            taken = {move.undoes for move in self._ledger.proposals.row(number).proposal.moves}
            left = [row.id for row in rows if row.id not in taken]
            if left:  # a person has taken them back: what hurt with them does so still
                log.info("left out of undo: back already", database=self._database.name, moves=left)
        except CannotUndo as error:
            self._ledger.audit.record("undo.impossible", f"proposal {rows[0].proposal_id}", why=str(error))
