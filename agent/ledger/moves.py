"""The life of moves, and the journal of their statements."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import GENESIS, hash_of_row, subject_of
from agent.ledger.chain.sent import Sent, SentFile
from agent.ledger.chain.trust import Trust
from agent.ledger.errors import NotApproved, NotFound, WrongState
from agent.ledger.file.instants import microseconds
from agent.ledger.file.reading import Condition, in_parts, one_of, where
from agent.ledger.leases import Leases
from agent.ledger.rows import MoveRow, OutcomeRow, ProposalRow, SentRow, StepRow, StepState
from agent.ledger.state_changes import StateChanges
from agent.ledger.store.database import Database
from agent.ledger.stored import load_move, load_moves, load_moves_of
from agent.model.outcomes import Outcome, outcome_from_json, outcome_json
from agent.model.states import (
    ACTIONABLE,
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
        self, database: Database, chain: AuditChain, clock: Clock, changes: StateChanges, trust: Trust, leases: Leases,
        sent: SentFile | None,
    ) -> None:  # fmt: skip
        self._database = database
        self._chain = chain
        self._clock = clock
        self._changes = changes
        self._trust = trust
        self._leases = leases
        self._sent = sent

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
            return self._changes.bring(transaction, row, to, reason)

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
        """The move that a write is about, if no other agent acts on its database and nothing that was sent is missing.

        Raises:
            LeaseLost: one does.
            FellBack: something is.
        """
        row = load_move(transaction, move_id)
        self._require(transaction, row.database)
        return row

    def _require(self, transaction: Transaction, database: str) -> None:
        self._leases.require(transaction, database)
        if self._sent is not None:
            self._sent.require(transaction, database)

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
            now = self._clock.now()
            values = {
                "move_id": move_id, "ordinal": ordinal, "sql": sql, "state": StepState.INTENDED, "detail": "",
                "intended_at": now,
            }  # fmt: skip
            number = transaction.insert("steps", values)
            link = self._chain.append(
                transaction, "step.intended", subject_of("step", number),
                move=move_id, ordinal=ordinal, sql=sql, digest=row.digest,
            )  # fmt: skip
            sent = Sent(
                ledger=hash_of_row(transaction, 1) or GENESIS, database=row.database, step=number, move=move_id,
                digest=row.digest, ordinal=ordinal, sql=sql, intended_at=microseconds(now),
                row=link, hash=hash_of_row(transaction, link) or "",
            )  # fmt: skip
        if self._sent is not None:  # after the commit: before it, a crash in between would leave what was never sent
            self._sent.note_intent(sent)
        return number

    def step_result(self, step_id: int, state: StepState, detail: str) -> None:
        """Journal what became of a statement.

        Raises:
            NotFound: there is no such step.
            WrongState: its result is known already.
        """
        if state is StepState.INTENDED:
            raise ValueError(f"step {step_id}: a result is done, failed or unknown, not {state}")
        now = self._clock.now()
        # Before the ledger hears of it, which may be away, or an older copy that lacks the step.
        sent = None if self._sent is None else self._sent.note_end(step_id, state, detail, now)
        number = step_id if sent is None else sent.step
        with self._database.write() as transaction:
            if sent is not None:
                self._require(transaction, sent.database)
            step = transaction.first(_STATE_OF_STEP, where("steps.id = ?", number))
            if step is None:
                raise NotFound(f"there is no step {number}")
            self._require(transaction, step.database)
            # Refused, not stored over the first: the journal is evidence, and what it says of a statement is never
            # rewritten.
            if step.state != StepState.INTENDED:
                raise WrongState(f"step {number} already ended: {step.state}")
            link = self._changes.end_step(transaction, number, state, detail, now)
            head = hash_of_row(transaction, link) or ""
        if self._sent is not None and sent is not None:
            self._sent.replace(replace(sent, end_row=link, end_hash=head))

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


def outcome_row(values: dict[str, Any]) -> OutcomeRow:
    """An outcome from the columns of ``OUTCOMES``."""
    body = values.pop("body")
    return OutcomeRow(**values, outcome=outcome_from_json(json.loads(body)))
