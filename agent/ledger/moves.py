"""The life of moves, and the journal of their statements."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import subject_of
from agent.ledger.chain.trust import Trust
from agent.ledger.errors import NotApproved, NotFound, WrongState
from agent.ledger.file.reading import Condition, in_parts, one_of, where
from agent.ledger.leases import Leases
from agent.ledger.rows import MoveRow, OutcomeRow, ProposalRow, SentRow, StepRow, StepState
from agent.ledger.state_changes import StateChanges
from agent.ledger.store.database import Database
from agent.ledger.stored import load_move, load_moves, load_moves_of
from agent.model.outcomes import Outcome, outcome_from_json, outcome_json
from agent.model.states import (
    ACTIONABLE,
    HOME_CHANGES,
    ONLY_IN_APPROVED,
    STARTING,
    STATEMENTS_ALLOWED,
    IllegalTransition,
    MoveState,
    ProposalState,
    check_transition,
)
from connectors.base import Clock
from connectors.route import Route

if TYPE_CHECKING:
    from agent.ledger.file.transaction import Transaction

AT_ONCE = 500  # moves in one statement
_TO_DO = "SELECT moves.id FROM moves JOIN proposals ON proposals.id = moves.proposal_id"
_STEPS = """
SELECT steps.* FROM steps JOIN moves ON moves.id = steps.move_id JOIN proposals ON proposals.id = moves.proposal_id
"""
_STATE_OF_STEP = """
SELECT steps.state, proposals.database FROM steps
JOIN moves ON moves.id = steps.move_id JOIN proposals ON proposals.id = moves.proposal_id
"""
OUTCOMES = """
SELECT outcomes.*, moves.proposal_id, proposals.database
FROM outcomes JOIN moves ON moves.id = outcomes.move_id JOIN proposals ON proposals.id = moves.proposal_id
"""


class Moves:
    """The moves of all proposals. Every change is one transaction with its audit row.

    Changes of state, intents, results and outcomes raise ``LeaseLost`` where another agent acts on the database by now:
    nothing was written.
    """

    def __init__(
        self, database: Database, chain: AuditChain, clock: Clock, changes: StateChanges, trust: Trust, leases: Leases
    ) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock
        self._changes = changes
        self._trust = trust
        self._leases = leases

    def rows(
        self,
        *,
        database: str | None = None,
        proposal_id: int | None = None,
        states: Collection[MoveState] | None = None,
        since: datetime | None = None,
    ) -> list[MoveRow]:
        """Moves in the order of execution; with ``since`` those whose state has changed since then.

        Raises:
            ProposalTampered: the proposal of one of them is not what was stored.
        """
        with self._database.read() as reading:
            return load_moves(reading, *_conditions(database, proposal_id, states, since))

    def of(self, proposals_: Collection[ProposalRow]) -> dict[int, list[MoveRow]]:
        """The moves of some proposals in the order of execution, by proposal."""
        with self._database.read() as reading:
            return load_moves_of(reading, proposals_)

    def to_do(self, database: str) -> bool:
        """Whether a move of a database is approved or has begun and not ended; asked once a second."""
        with self._database.read() as reading:
            approved = where("proposals.database = ?", database), where("proposals.state = ?", ProposalState.APPROVED)
            return reading.first(_TO_DO, *approved, one_of("+moves.state", ACTIONABLE), then="LIMIT 1") is not None

    def latest(self, database: str, limit: int) -> list[MoveRow]:
        """The moves whose state changed last, the newest first.

        Raises:
            ProposalTampered: the proposal of one of them is not what was stored.
        """
        with self._database.read() as reading:
            return load_moves(reading, where("+proposals.database = ?", database), newest=limit)

    def taking_back(self, row: MoveRow) -> list[MoveRow]:
        """The moves of later proposals that take a move back, or would.

        Raises:
            ProposalTampered: one of those proposals is not what was stored.
        """
        later = where("proposals.id > ?", row.proposal_id), where("+proposals.database = ?", row.database)
        named = where("instr(proposals.body, ?) > 0", f'"undoes":{row.id},')  # in canonical text; another key follows
        with self._database.read() as reading:
            # The text narrows the search, the parsed move decides: the same characters may stand inside a name.
            return [each for each in load_moves(reading, *later, named) if each.move.undoes == row.id]

    def row(self, move_id: int) -> MoveRow:
        """One move.

        Raises:
            NotFound: there is none by that number.
            ProposalTampered: its proposal is not what was stored.
        """
        with self._database.read() as reading:
            return load_move(reading, move_id)

    def transition(self, move_id: int, to: MoveState, reason: str) -> MoveRow:
        """Bring a move into another state, checked against the stored one within the transaction.

        A proposal whose moves have all ended is finished with the last of them.

        Raises:
            NotFound, ProposalTampered: as ``row``.
            IllegalTransition: ``TRANSITIONS`` does not hold it, or it would approve without a digest.
            NotApproved: the move would begin without an approval.
        """
        with self._database.write() as transaction:
            row = self._load(transaction, move_id)
            _check(row, to)
            started = row.state is MoveState.PRECHECK and to is MoveState.RUNNING
            now = self._clock.now()
            values = {"state": to, "reason": reason, "updated_at": now, "attempts": row.attempts + started}
            transaction.update("moves", [move_id], values)
            if to in HOME_CHANGES:
                _note_arrival(transaction, row, now)
            self._chain.append(
                transaction, f"move.{to}", subject_of("move", move_id),
                was=row.state, reason=reason, digest=row.digest,
            )  # fmt: skip
            self._changes.finish_if_ended(transaction, row.proposal_id)
            return load_move(transaction, move_id)

    def require_trust(self, row: MoveRow) -> None:
        """Check that chain, anchors and tables agree about a move, before it begins.

        Raises:
            Untrusted: they do not.
        """
        with self._database.read() as reading:
            self._trust.require(reading, row)

    def last_moved(self, database: str) -> dict[str, datetime]:
        """Unit key -> when it last arrived in a new home, for every unit of every bundle that was moved."""
        with self._database.read() as reading:
            found = reading.rows("SELECT unit_key, placed_at FROM placements", where("database = ?", database))
            return {row.unit_key: row.placed_at for row in found}

    def _load(self, transaction: Transaction, move_id: int) -> MoveRow:
        """The move that a write is about, if no other agent acts on its database.

        Raises:
            LeaseLost: one does.
        """
        row = load_move(transaction, move_id)
        self._leases.require(transaction, row.database)
        return row

    # -- the journal ---------------------------------------------------------------------------------------------

    def step_intent(self, move_id: int, ordinal: int, sql: str) -> int:
        """Journal that a statement is about to be sent; on the disk when this returns. Returns the step's number.

        Raises:
            NotFound, ProposalTampered: as ``row``.
            NotApproved: the statement is not, letter by letter, one that the approval of the move covers.
            WrongState: the move does not run.
            Untrusted: chain, anchors and tables do not agree about it.
        """
        with self._database.write() as transaction:
            row = self._load(transaction, move_id)
            _check_covered(row, sql)
            self._trust.require(transaction, row)
            # Within the transaction that journals it: checked before, the ledger could be changed between the check and
            # the statement.
            values = {
                "move_id": move_id, "ordinal": ordinal, "sql": sql, "state": StepState.INTENDED, "detail": "",
                "intended_at": self._clock.now(),
            }  # fmt: skip
            number = transaction.insert("steps", values)
            self._chain.append(
                transaction, "step.intended", subject_of("step", number),
                move=move_id, ordinal=ordinal, sql=sql, digest=row.digest,
            )  # fmt: skip
            return number

    def step_result(self, step_id: int, state: StepState, detail: str) -> None:
        """Journal what became of a statement.

        Raises:
            NotFound: there is no such step.
            WrongState: its result is known already.
        """
        if state is StepState.INTENDED:
            raise ValueError(f"step {step_id}: a result is done, failed or unknown, not {state}")
        with self._database.write() as transaction:
            step = transaction.first(_STATE_OF_STEP, where("steps.id = ?", step_id))
            if step is None:
                raise NotFound(f"there is no step {step_id}")
            self._leases.require(transaction, step.database)
            # Refused, not stored over the first: the journal is evidence, and what it says of a statement is never
            # rewritten.
            if step.state != StepState.INTENDED:
                raise WrongState(f"step {step_id} already ended: {step.state}")
            values = {"state": state, "detail": detail, "ended_at": self._clock.now()}
            transaction.update("steps", [step_id], values)
            self._chain.append(transaction, f"step.{state}", subject_of("step", step_id), detail=detail)

    def steps(self, move_id: int) -> list[StepRow]:
        """Every statement of a move that was sent or about to be, in order."""
        return self.steps_of([move_id])[move_id]

    def steps_of(self, move_ids: Collection[int]) -> dict[int, list[StepRow]]:
        """The same of several moves, by their numbers."""
        found: dict[int, list[StepRow]] = {number: [] for number in move_ids}
        with self._database.read() as reading:
            for some in in_parts(move_ids, AT_ONCE):
                for row in reading.rows("SELECT * FROM steps", one_of("move_id", some), then="ORDER BY id"):
                    found[row.move_id].append(StepRow(**{**row._asdict(), "state": StepState(row.state)}))
        return found

    def sent_statements(self, database: str, since: datetime) -> list[SentRow]:
        """Every statement of a database that had not ended before ``since``, in the order they were sent."""
        late = where("(steps.ended_at IS NULL OR steps.ended_at > ?)", since)
        here = where("+proposals.database = ?", database)
        with self._database.read() as reading:
            found = sorted(reading.rows(_STEPS, late, here), key=lambda row: int(row.id))
            wanted = dict.fromkeys(row.move_id for row in found)
            rows = {
                row.id: row
                for some in in_parts(wanted, AT_ONCE)
                for row in load_moves(reading, one_of("moves.id", some))
            }
        return [
            SentRow(
                move_id=row.move_id, ordinal=row.ordinal, sql=row.sql, state=StepState(row.state),
                intended_at=row.intended_at, ended_at=row.ended_at,
                move_state=rows[row.move_id].state, move=rows[row.move_id].move,
            )
            for row in found
        ]  # fmt: skip

    # -- outcomes ------------------------------------------------------------------------------------------------

    def record_outcome(self, move_id: int, outcome: Outcome) -> int:
        """Store what was measured for a move; returns the number of the outcome.

        Raises:
            NotFound, ProposalTampered: as ``row``.
        """
        plain = outcome_json(outcome)
        with self._database.write() as transaction:
            row = self._load(transaction, move_id)
            values = {"move_id": move_id, "at": self._clock.now(), "body": json.dumps(plain, ensure_ascii=False)}
            number = transaction.insert("outcomes", values)
            self._chain.append(
                transaction, "outcome.recorded", subject_of("move", move_id), proposal=row.proposal_id, **plain
            )
            return number

    def outcomes(self, *, database: str, limit: int) -> list[OutcomeRow]:
        """The newest outcome of each of the proposals that were measured last, the newest first."""
        of_it = where("+proposals.database = ?", database)
        newest: dict[int, OutcomeRow] = {}
        with self._database.read() as reading:
            for row in reading.rows(OUTCOMES, of_it, then="ORDER BY outcomes.id DESC"):
                if len(newest) == limit:
                    break
                if row.proposal_id not in newest:
                    newest[row.proposal_id] = outcome_row(row._asdict())
        return list(newest.values())

    def outcomes_of(self, move_ids: Collection[int]) -> dict[int, OutcomeRow]:
        """What was measured for those moves, by their numbers; what was not measured is left out."""
        with self._database.read() as reading:
            return {
                row.move_id: outcome_row(row._asdict())
                for some in in_parts(move_ids, AT_ONCE)
                for row in reading.rows(OUTCOMES, one_of("outcomes.move_id", some), then="ORDER BY outcomes.id")
            }


def _conditions(
    database: str | None, proposal_id: int | None, states: Collection[MoveState] | None, since: datetime | None
) -> list[Condition]:
    """What is asked for, said so that SQLite begins with what is rare: not with all that ever was."""
    rare = proposal_id is not None or states is not None or since is not None
    conditions: list[Condition] = []
    if states is not None and set(states) <= ONLY_IN_APPROVED:
        conditions.append(where("proposals.state = ?", ProposalState.APPROVED))
        rare = False  # few of a database are, and an index holds both
    if database is not None:
        conditions.append(where(f"{'+' if rare else ''}proposals.database = ?", database))
    if proposal_id is not None:
        conditions.append(where("moves.proposal_id = ?", proposal_id))
    if states is not None:
        conditions.append(one_of("moves.state" if proposal_id is None and since is None else "+moves.state", states))
    if since is not None:
        conditions.append(where("moves.updated_at >= ?", since))
    return conditions


def _check(row: MoveRow, to: MoveState) -> None:
    """Refuse what the table of states or the lack of an approval forbids."""
    check_transition(row.state, to)
    if row.state is MoveState.PROPOSED and to is MoveState.APPROVED:
        raise IllegalTransition(f"move {row.id} is approved by Proposals.approve with the digest, in no other way")
    if to in STARTING and not row.approved:
        raise NotApproved(f"move {row.id} was never approved", advice=f"hotplace approve {row.proposal_id}")


def _check_covered(row: MoveRow, sql: str) -> None:
    """Refuse a statement that is not, letter by letter, one that the approval covers, or whose move does not run."""
    if not row.approved or sql not in _statements(row.move.route):
        raise NotApproved(
            f"no approval covers this statement of move {row.id}: {sql}",
            advice="This is a fault of hotplace; nothing was sent. Please report it with the output of hotplace show.",
        )
    if row.state not in STATEMENTS_ALLOWED and not _tidies_up(row, sql):
        raise WrongState(f"move {row.id} is {row.state}; statements are sent while it runs")


def _tidies_up(row: MoveRow, sql: str) -> bool:
    """Whether it removes what the move has left: allowed for as long as that is there, whatever became of the move."""
    return row.attempts > 0 and any(sql in step.statements for step in row.move.route.tidy_steps)


def _statements(route: Route) -> set[str]:
    whole = {sql for step in (*route.steps, *route.undo_steps, *route.tidy_steps) for sql in step.statements}
    around = {sql for step in route.steps for sql in (step.undo_sql, step.pause_sql, step.resume_sql)}
    return whole | around - {""}


def _note_arrival(transaction: Transaction, row: MoveRow, now: datetime) -> None:
    keys = dict.fromkeys((row.move.key, *row.move.route.bundle.unit_keys))
    transaction.put("placements", [{"database": row.database, "unit_key": key, "placed_at": now} for key in keys])


def outcome_row(values: dict[str, Any]) -> OutcomeRow:
    """An outcome from the columns of ``OUTCOMES``."""
    body = values.pop("body")
    return OutcomeRow(**values, outcome=outcome_from_json(json.loads(body)))
