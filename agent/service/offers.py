"""What one database's agent offers to people for a decision: stored once, unless it repeats what was answered."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from agent.config.models import DatabaseConfig, Level
from agent.ledger.errors import Refused
from agent.ledger.ledger import Ledger
from agent.ledger.rows import ProposalRow, for_a_person
from agent.ledger.state_names import PIN_REPORTS, RANKING, decision_of_proposal
from agent.model.proposals import Proposal
from agent.model.states import IN_HAND, MoveState, ProposalState
from agent.planning.advice import advice_on, pin_reports, reports_document, store_advice
from agent.planning.decisions import archive_explanation, store_decision
from agent.planning.idle_templates import note_unserved
from agent.planning.planner import Planning
from agent.planning.ranking import Ordered
from agent.planning.situation import requested_purposes
from agent.planning.splits import split_answer_on
from agent.planning.template_proposals import rolling_proposals
from agent.sampling.learned_state import fill_of, record_fill
from connectors.kit.contract import Clock, Connector
from connectors.model.observation import Catalog


class ProposalOffers:
    """Stores proposals of one database, and approves them under standing rules."""

    def __init__(self, database: DatabaseConfig, ledger: Ledger, clock: Clock, level: Level) -> None:
        """Wire it up.

        Args:
            database: its configuration.
            ledger: the durable record.
            clock: time.
            level: what the agent may do without a person.
        """
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._level = level

    def store(self, proposal: Proposal | None) -> int | None:
        """Store a proposal and return its number.

        None where there is none, or where ``why_not`` has a reason against it.
        """
        if proposal is None or self.why_not(proposal):
            return None
        return self._ledger.proposals.store(proposal)

    def why_not(self, proposal: Proposal) -> str:
        """Why a proposal is not stored, without a full stop; "" where it is.

        The level forbids it, approved moves are still to be done or an undo waits for its answer. Moves that a person
        carries out are planned around: only a proposal that names a unit of theirs is not stored. A proposal of the
        agent's own is not stored either while a person's proposal with the same question is open, or if the same
        statements were rejected within the cool-down.
        """
        if self._level is Level.OBSERVE:
            return f"level: {self._level} in the configuration forbids it"
        self._ledger.proposals.expire_due()  # an undo that was not decided in time waits for nothing any more
        if why := self._in_the_way(proposal):
            return why
        if not proposal.asked_by and self._may_not_repeat(proposal):
            return "a person has asked the same question, or rejected the same moves within the cool-down"
        return ""

    def store_plan(self, planning: Planning, proposal: Proposal | None) -> int | None:
        """Store the proposal of a plan, with what explains it later; None as ``store``."""
        number, name = self.store(proposal), self._database.name
        if number is None:
            return None
        if planning.plain and self._ledger.state.load_arrays(name, decision_of_proposal(number)) is None:
            store_decision(self._ledger, name, planning, decision_of_proposal(number))
            archive_explanation(self._ledger, name, planning, number)
        return number

    def store_due(self, connector: Connector, catalog: Catalog, fingerprint: str) -> dict[int, str]:
        """Store what is due under the templates of open standing rules, and note which cannot be served.

        Returns:
            What holds up an open rule, by its number.

        Raises:
            ConnectorError: the engine did not answer.
        """
        rules = self._ledger.rules.rows(self._database.name)
        due = tuple(rolling_proposals(rules, self._database, connector, catalog, fingerprint, self._clock.now()))
        idle = note_unserved(self._ledger, self._database.name, rules, connector, fingerprint, self._clock.now())
        for proposal in due:
            self.store(proposal)
        return idle

    def approve_by_rules(self) -> tuple[ProposalRow, ...]:
        """Approve what waits and a standing rule covers."""
        waiting = self._ledger.proposals.rows(database=self._database.name, states={ProposalState.PROPOSED})
        approved = []
        for row in reversed(waiting):
            with suppress(Refused):  # it goes on waiting for a person; `hotplace rules show` says why
                approved.append(self._ledger.rules.approve(row.id))
        return tuple(approved)

    def _in_the_way(self, proposal: Proposal) -> str:
        """What is to be done or decided before it, or which unit of it a person moves; "" where there is nothing."""
        rows = self._ledger.moves.rows(database=self._database.name, states=IN_HAND | {MoveState.UNDO_PROPOSED})
        handed = for_a_person([row for row in rows if row.state in IN_HAND])
        planned_around = {row.id for row in handed} | {row.move.undoes for row in handed}
        # A plan made while moves are under way starts from homes that are about to change, so it would propose what
        # they are already doing.
        first = next((row for row in rows if row.id not in planned_around), None)
        if first is not None and first.state is MoveState.UNDO_PROPOSED:
            return f"move {first.id} is to be taken back first: {first.reason}"
        if first is not None:
            return f"move {first.id} of proposal {first.proposal_id} comes first: it is {first.state.words}"
        taken = {key for row in handed for key in row.move.all_keys}
        both = next((key for move in proposal.moves for key in sorted(taken & move.all_keys)), "")
        return f"a person carries out a move of {both}" if both else ""

    def _may_not_repeat(self, proposal: Proposal) -> bool:
        """Whether a person has asked the same question, or has lately rejected the same answer."""
        if proposal.purpose in requested_purposes(self._ledger, self._database.name):
            return True
        rest = timedelta(seconds=self._database.policy_settings().cool_down_seconds)
        return self._ledger.proposals.was_rejected(proposal, rest)


def store_for_commands(ledger: Ledger, database: str, planning: Planning, ordered: Ordered) -> None:
    """Store the ranking, the state of the pins, the plan's situation and the advice for later commands."""
    ledger.state.save_arrays(database, RANKING, planning.made_at, ordered.arrays())
    ledger.state.save_document(database, PIN_REPORTS, reports_document(pin_reports(planning)))
    store_decision(ledger, database, planning)
    record_fill(ledger, database, fill_of(planning.made_at, planning.situation))
    splits = split_answer_on(planning, ledger, database)
    store_advice(ledger, database, advice_on(planning, splits))
