"""The life of moves, and the journal of their statements."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, bindparam, or_, select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.events import Event, read_event
from agent.ledger.chain.judge import hand_fault
from agent.ledger.chain.links import AUDIT_HEAD, GENESIS, hash_of_row, subject_of
from agent.ledger.chain.sent import Sent, SentFile
from agent.ledger.chain.trust import Trust
from agent.ledger.errors import NotApproved, NotFound, WrongState, readable
from agent.ledger.leases import Leases
from agent.ledger.requests import require_no_stop
from agent.ledger.rows import MoveRow, OutcomeRow, ProposalRow, SentRow, StepRow, StepState
from agent.ledger.store.database import Database, Reading, Row, Transaction
from agent.ledger.store.schema import (
    QUERIES_HELD,
    Whole,
    among,
    audit,
    given,
    microseconds,
    moves,
    one_of,
    outcomes,
    placements,
    proposals,
    steps,
    unindexed,
    value_for,
)
from agent.ledger.stored import (
    MOVES,
    SOME_MOVES,
    WITH_PROPOSAL,
    StateChanges,
    end_of_undo,
    load_move,
    load_moves,
    load_moves_of,
    load_taking_back,
    move_rows,
)
from agent.model.outcomes import Outcome, outcome_from_json, outcome_json
from agent.model.states import (
    ACTIONABLE,
    COUNTED,
    ONLY_IN_APPROVED,
    STARTING,
    STATEMENTS_ALLOWED,
    IllegalTransition,
    MoveState,
    ProposalState,
    check_transition,
)
from connectors.kit.contract import Clock
from connectors.model.moves import Route

# Events of the chain that bring a move to one of the results that are counted.
RESULT_EVENTS = (*(f"move.{state}" for state in COUNTED), "move.struck", "move.stopped")
_TO_DO = (
    select(moves.c.id)
    .join_from(moves, proposals, WITH_PROPOSAL)
    .where(given(proposals.c.database), proposals.c.state == ProposalState.APPROVED)
    .where(among(unindexed(moves.c.state), ACTIONABLE))
    .limit(1)
)
_NEWEST = (
    MOVES.where(unindexed(proposals.c.database) == value_for(proposals.c.database, "database"))
    .order_by(moves.c.updated_at.desc(), moves.c.id.desc())
    .limit(bindparam("limit", type_=Whole))
)
_RESULTS = (
    select(audit)
    .where(audit.c.id > value_for(audit.c.id, "after"), unindexed(audit.c.event).in_(RESULT_EVENTS))
    .order_by(audit.c.id)
)
_DATABASES_OF = (
    select(moves.c.id, proposals.c.database).join_from(moves, proposals, WITH_PROPOSAL).where(one_of(moves.c.id))
)
_PLACED = select(placements.c.unit_key, placements.c.placed_at).where(given(placements.c.database))
_STATE_OF_STEP = (
    select(steps.c.state, proposals.c.database)
    .join_from(steps, moves, moves.c.id == steps.c.move_id)
    .join(proposals, WITH_PROPOSAL)
    .where(given(steps.c.id))
)
_STEPS_OF = select(steps).where(one_of(steps.c.move_id)).order_by(steps.c.id)
_SENT_LATE = (
    select(steps)
    .join_from(steps, moves, moves.c.id == steps.c.move_id)
    .join(proposals, WITH_PROPOSAL)
    .where(or_(steps.c.ended_at.is_(None), steps.c.ended_at > value_for(steps.c.ended_at, "since")))
    .where(unindexed(proposals.c.database) == value_for(proposals.c.database, "database"))
)
OUTCOMES = (
    select(outcomes, moves.c.proposal_id, proposals.c.database)
    .join_from(outcomes, moves, moves.c.id == outcomes.c.move_id)
    .join(proposals, WITH_PROPOSAL)
)
_NEWEST_OUTCOMES = OUTCOMES.where(
    unindexed(proposals.c.database) == value_for(proposals.c.database, "database")
).order_by(outcomes.c.id.desc())
_OUTCOMES_OF = OUTCOMES.where(one_of(outcomes.c.move_id)).order_by(outcomes.c.id)


@dataclass(frozen=True, slots=True)
class MoveResult:
    """A result that a move has come to."""

    move_id: int
    state: MoveState  # of ``COUNTED``


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
        wanted = {"database": database, "proposal_id": proposal_id, "since": since}
        asked = {name: value for name, value in wanted.items() if value is not None}
        query = _query(frozenset(asked), None if states is None else frozenset(states))
        with self._database.read() as reading:
            return load_moves(reading, query, **asked)

    def as_they_are(
        self,
        *,
        database: str | None = None,
        proposal_id: int | None = None,
        states: Collection[MoveState] | None = None,
    ) -> list[MoveRow]:
        """The same as they are now: what was not begun in time is expired, whether or not an agent has noted it.

        Raises:
            ProposalTampered: the proposal of one of them is not what was stored.
        """
        asked = None if states is None or MoveState.EXPIRED in states else states
        now = self._clock.now()
        seen = (row.seen_at(now) for row in self.rows(database=database, proposal_id=proposal_id, states=asked))
        return [row for row in seen if states is None or row.state in states]

    def by_proposal(self, proposals_: Collection[ProposalRow]) -> dict[int, list[MoveRow]]:
        """The moves of some proposals as they are now, in the order of execution, by proposal."""
        now = self._clock.now()
        with self._database.read() as reading:
            found = load_moves_of(reading, proposals_)
        return {number: [row.seen_at(now) for row in rows] for number, rows in found.items()}

    def has_pending_moves(self, database: str) -> bool:
        """Whether a move of a database is approved or has begun and not ended; asked once a second."""
        with self._database.read() as reading:
            return reading.first(_TO_DO, database=database) is not None

    def latest(self, database: str, limit: int) -> list[MoveRow]:
        """The moves whose state changed last, the newest first.

        Raises:
            ProposalTampered: the proposal of one of them is not what was stored.
        """
        with self._database.read() as reading:
            return move_rows(reading, reading.rows(_NEWEST, database=database, limit=limit))

    def taking_back(self, row: MoveRow) -> list[MoveRow]:
        """The moves of later proposals that take a move back, or would.

        Raises:
            ProposalTampered: one of those proposals is not what was stored.
        """
        with self._database.read() as reading:
            return load_taking_back(reading, row)

    def settle_undos(self, database: str) -> None:
        """Let moves know what became of their undo where the transaction that ended it could not.

        Raises:
            ProposalTampered: a proposal that was to take one of them back is not what was stored.
        """
        for row in self.rows(database=database, states={MoveState.UNDO_PROPOSED}):
            if end_of_undo(self.taking_back(row)) is None:
                continue  # the usual case takes no write lock
            with self._database.write() as transaction:
                self._changes.settle_undone(transaction, [self._load(transaction, row.id).id])

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
            return self._changes.set_state(transaction, row, to, reason)

    def require_trust(self, row: MoveRow, *, begins: bool = True) -> None:
        """Check that chain, anchors and tables agree about a move.

        Args:
            row: the move.
            begins: it is about to begin, so its approval must not have expired.

        Raises:
            Untrusted: they do not.
        """
        with self._database.read() as reading:
            self._trust.require(reading, row, begins=begins)

    def require_state(self, row: MoveRow) -> None:
        """Check that chain and tables agree about the state of a move: enough for one that was not begun.

        Raises:
            Untrusted: they do not.
        """
        with self._database.read() as reading:
            self._trust.require_state(reading, row)

    def require_chain(self) -> None:
        """Check that the whole chain fits, apart from any move: seconds where it is long.

        Raises:
            Untrusted: it does not.
        """
        with self._database.read() as reading:
            self._trust.require_chain(reading)

    def require_end_of_chain(self) -> None:
        """Check that the end of the chain fits, and the last anchor: milliseconds, whatever moves there are.

        Raises:
            Untrusted: it does not.
        """
        self._trust.require_end()

    def results_since(self, database: str, after: int | None) -> tuple[int, list[MoveResult]]:
        """What moves of a database have come to since a row of the chain, no matter who brought them there.

        Args:
            database: its name.
            after: the row up to which results are known; None: none are wanted, only where the chain ends now.

        Returns:
            The row up to which they are known now, and the results in their order.
        """
        with self._database.read() as reading:
            head = reading.first(AUDIT_HEAD)
            last = 0 if head is None else int(head.last_id)
            if after is None or last <= after:
                return last, []
            events = [read_event(row) for row in reading.rows(_RESULTS, after=after)]
            # Not through load_moves: a proposal whose text was tampered with ends like any other.
            own = {row.id for row in reading.some(_DATABASES_OF, [e.number for e in events if isinstance(e, Event)])
                   if row.database == database}  # fmt: skip
        results = []
        for event in events:
            if isinstance(event, Event) and event.number in own:
                state = event.facts.get("to", event.name.removeprefix("move."))
                results += [MoveResult(event.number, MoveState(state))] if state in COUNTED else []
        return max(last, *(event.row for event in events), 0), results

    def last_moved(self, database: str) -> dict[str, datetime]:
        """Unit key -> when it last arrived in a new home, for every unit of every bundle that was moved."""
        with self._database.read() as reading:
            return {row.unit_key: row.placed_at for row in reading.rows(_PLACED, database=database)}

    def date_back_arrivals(self, database: str, slack: timedelta) -> int:
        """Let arrivals count from now that are dated later, by a clock that was ahead; returns how many there were.

        Else their units would cool down, and every outcome would lack its time before, until that clock is right.

        Args:
            database: its name.
            slack: by which clocks may differ.

        Raises:
            LeaseLost: another agent acts on the database.
        """
        now = self._clock.now()
        ahead = [key for key, at in self.last_moved(database).items() if at > now + slack]
        if ahead:
            with self._database.write() as transaction:
                self._require(transaction, database)
                transaction.put(
                    placements, [{"database": database, "unit_key": key, "placed_at": now} for key in ahead]
                )
        return len(ahead)

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
            Stopped: a person has stopped all that is sent to the database.
        """
        with self._database.write() as transaction:
            row = self._load(transaction, move_id)
            require_no_stop(transaction, row.database)
            _check_covered(row, sql)
            self._trust.require(transaction, row)
            # Within the transaction that journals it: checked before, the ledger could be changed between the check and
            # the statement.
            now = self._clock.now()
            values = {
                "move_id": move_id, "ordinal": ordinal, "sql": sql, "state": StepState.INTENDED, "detail": "",
                "intended_at": now,
            }  # fmt: skip
            number = transaction.insert(steps, values)
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
            step = transaction.first(_STATE_OF_STEP, id=number)
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
            for row in reading.some(_STEPS_OF, move_ids):
                with readable(reading.database, "steps", id=row.id):
                    found[row.move_id].append(StepRow(**{**row._asdict(), "state": StepState(row.state)}))
        return found

    def sent_statements(self, database: str, since: datetime) -> list[SentRow]:
        """Every statement of a database that was not over by ``since``, in the order they were sent."""
        with self._database.read() as reading:
            found = sorted(reading.rows(_SENT_LATE, database=database, since=since), key=lambda row: int(row.id))
            wanted = dict.fromkeys(row.move_id for row in found)
            rows = {row.id: row for row in move_rows(reading, list(reading.some(SOME_MOVES, wanted)))}
            sent = [_sent_row(reading, row, rows) for row in found]
        return [each for each in sent if each.over_at is None or each.over_at > since]

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
            number = transaction.insert(outcomes, values)
            self._chain.append(
                transaction, "outcome.recorded", subject_of("move", move_id), proposal=row.proposal_id, **plain
            )
            return number

    def outcomes(self, *, database: str, limit: int) -> list[OutcomeRow]:
        """The newest outcome of each of the proposals that were measured last, the newest first."""
        newest: dict[int, OutcomeRow] = {}
        with self._database.read() as reading:
            for row in reading.each(_NEWEST_OUTCOMES, database=database):
                if len(newest) == limit:
                    break
                if row.proposal_id not in newest:
                    newest[row.proposal_id] = outcome_row(reading, row)
        return list(newest.values())

    def outcomes_of(self, move_ids: Collection[int]) -> dict[int, OutcomeRow]:
        """What was measured for those moves, by their numbers; what was not measured is left out."""
        with self._database.read() as reading:
            return {row.move_id: outcome_row(reading, row) for row in reading.some(_OUTCOMES_OF, move_ids)}


@lru_cache(maxsize=QUERIES_HELD)
def _query(asked: frozenset[str], states: frozenset[MoveState] | None) -> Select[Any]:
    """Moves by what is asked for of database, proposal and since, and by their states.

    Said so that SQLite begins with what is rare: not with all that ever was.
    """
    rare, query = bool(asked & {"proposal_id", "since"}) or states is not None, MOVES
    if states is not None and states <= ONLY_IN_APPROVED:
        query = query.where(proposals.c.state == ProposalState.APPROVED)
        rare = False  # few of a database are, and an index holds both
    if "database" in asked:
        of_it = unindexed(proposals.c.database) if rare else proposals.c.database
        query = query.where(of_it == value_for(proposals.c.database, "database"))
    if "proposal_id" in asked:
        query = query.where(given(moves.c.proposal_id))
    if states is not None:
        sifted = asked & {"proposal_id", "since"}
        query = query.where(among(unindexed(moves.c.state) if sifted else moves.c.state, states))
    if "since" in asked:
        query = query.where(moves.c.updated_at >= value_for(moves.c.updated_at, "since"))
    return query


def _check(row: MoveRow, to: MoveState) -> None:
    """Refuse what the table of states or the lack of an approval forbids."""
    check_transition(row.state, to)
    if row.state is MoveState.PROPOSED and to is MoveState.APPROVED:
        raise IllegalTransition(f"move {row.id} is approved by Proposals.approve with the digest, in no other way")
    if to in STARTING and not row.approved:
        raise NotApproved(f"move {row.id} was never approved", advice=f"hotplace approve {row.proposal_id}")
    if fault := hand_fault(row, to):
        raise IllegalTransition(fault)
    if to is MoveState.PLACED and row.state is MoveState.HANDED_OVER and not row.approved:
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
    if route.by_hand is not None:  # whatever steps it may have besides
        return set()
    whole = {sql for step in (*route.steps, *route.undo_steps, *route.tidy_steps) for sql in step.statements}
    around = {sql for step in route.steps for sql in (step.undo_sql, step.pause_sql, step.resume_sql)}
    return whole | around - {""}


def _sent_row(reading: Reading, row: Row, moves: Mapping[int, MoveRow]) -> SentRow:
    with readable(reading.database, "steps", id=row.id):
        return SentRow(
            move_id=row.move_id, ordinal=row.ordinal, sql=row.sql, state=StepState(row.state),
            intended_at=row.intended_at, ended_at=row.ended_at,
            move_state=moves[row.move_id].state, state_since=moves[row.move_id].updated_at,
            move=moves[row.move_id].move,
        )  # fmt: skip


def outcome_row(reading: Reading, row: Row) -> OutcomeRow:
    """An outcome from a row of ``OUTCOMES``.

    Raises:
        LedgerCorrupt: it cannot be read.
    """
    values = row._asdict()
    with readable(reading.database, "outcomes", id=row.id):
        body = values.pop("body")
        return OutcomeRow(**values, outcome=outcome_from_json(json.loads(body)))
