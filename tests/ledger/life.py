"""A ledger that has lived for long: proposals, their moves to the end, and as many audit rows as that leaves behind.

Proposals are stored and approved by the ledger's own code, within one transaction for all of them, since a year of
commits takes minutes. What happens to approved moves afterwards is written as rows, as ``Moves`` would write them one
by one; ``audit.verify`` and the reading side of the ledger cannot tell the difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from agent.ledger.chain.links import AnchorFile, link_hash
from agent.ledger.file.database import FileDatabase
from agent.ledger.file.opening import bring_up_to_date, prepare_file
from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepState
from agent.ledger.store.database import Reading, Transaction
from agent.ledger.store.schema import audit, audit_head, moves, outcomes, proposals, steps
from agent.model.outcomes import Outcome, OutcomeVerdict, outcome_json
from agent.model.proposals import Proposal, ProposedMove
from agent.model.states import MoveState, ProposalState
from connectors.model.moves import Step
from tests.ledger.clock import StillClock
from tests.unit.samples import MADE_AT, a_move, a_proposal

WHO, ORIGIN = "anna", "db1 /dev/pts/0"
ACT_EVERY = timedelta(seconds=20)  # from one statement of a move to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """How much happened; the defaults are a busy year.

    Attributes:
        proposals: that were made, evenly over the time.
        approved_every: one in so many is approved and carried out; all others give way to the next.
        moves: of each proposal, in turn.
        second_steps: approved moves that take two statements.
        days: how long it took; the last proposal is made that long after the first.
        database: whose proposals they are.
        first: when the first one is made.
    """

    proposals: int = 3_000
    approved_every: int = 8
    moves: tuple[int, ...] = (24, 24, 24, 23)
    second_steps: int = 6_187
    days: float = 365.0
    database: str = "shop"
    first: datetime = MADE_AT

    def made_at(self, number: int) -> datetime:
        """When a proposal is made; the first is number 0."""
        return self.first + timedelta(days=self.days) * number / max(1, self.proposals - 1)

    @property
    def end(self) -> datetime:
        """An hour after the last proposal."""
        return self.made_at(self.proposals - 1) + timedelta(hours=1)


class OneTransaction(FileDatabase):
    """A ledger's file with one transaction for everything, committed when it is left."""

    _transaction: Transaction | None = None

    @contextmanager
    def all_at_once(self) -> Iterator[None]:
        """Every transaction within is part of this one."""
        with super().write(durable=False) as transaction:
            self._transaction = transaction
            try:
                yield
            finally:
                self._transaction = None

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """The one transaction, or one's own outside of it."""
        if self._transaction is not None:
            yield self._transaction
            return
        with super().read() as reading:
            yield reading

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Transaction]:
        """The one transaction, or one's own outside of it."""
        if self._transaction is not None:
            yield self._transaction
            return
        with super().write(durable=durable) as transaction:
            yield transaction


def live(path: Path, life: Life) -> None:
    """Add such a life to the ledger at the path, which is made where it is missing."""
    clock = StillClock(life.made_at(0))
    prepare_file(path, create=True)
    database = OneTransaction(path)
    try:
        found = bring_up_to_date(database)
        ledger = Ledger(database, clock, "a year", AnchorFile(path.with_name(f"{path.name}.anchors")))
        with database.all_at_once():
            if found is not None:
                ledger.audit.record("ledger.created", path.name)
            second_steps = life.second_steps
            for number in range(life.proposals):
                clock.at = life.made_at(number)
                stored = ledger.proposals.store(_proposal(life, number))
                if number % life.approved_every == 1 % life.approved_every:
                    second_steps -= _carry_out(ledger, database, clock, stored, second_steps)
    finally:
        database.close()


def _proposal(life: Life, number: int) -> Proposal:
    at = life.made_at(number)
    count = life.moves[number % len(life.moves)]
    made = [_move(number, ordinal) for ordinal in range(1, count + 1)]
    return a_proposal(*made, database=life.database, created_at=at, expires_at=at + timedelta(days=7))


def _move(number: int, ordinal: int) -> ProposedMove:
    key = f"public.orders_{number % 97}_{ordinal}"
    move = a_move(ordinal, key=key, size_bytes=(64 + number) << 20)
    second = Step(sql=f"ANALYZE {key} -- {number}", purpose="figures for the planner")
    return replace(move, route=replace(move.route, steps=(*move.route.steps, second)))


def _carry_out(ledger: Ledger, database: FileDatabase, clock: StillClock, number: int, second_steps: int) -> int:
    """Approve a proposal and bring all its moves to KEPT; returns how many took a second statement."""
    digest = ledger.proposals.row(number).digest
    clock.at += timedelta(minutes=5)
    ledger.proposals.approve(number, who=WHO, origin=ORIGIN, digest=digest)
    with database.write() as transaction:
        journal = _Journal(transaction, clock)
        of_it = select(moves.c.id, moves.c.ordinal).where(moves.c.proposal_id == number)
        rows = list(transaction.rows(of_it.order_by(moves.c.ordinal)))
        proposal = ledger.proposals.row(number).proposal
        for row, move in zip(rows, proposal.moves, strict=True):
            journal.move(row.id, digest, move, number, statements=2 if row.ordinal <= second_steps else 1)
        kept = {"state": MoveState.KEPT, "reason": "helped", "attempts": 1, "updated_at": clock.at}
        transaction.update(moves, [row.id for row in rows], kept)
        reason = "every move has ended"
        transaction.update(proposals, [number], {"state": ProposalState.FINISHED, "reason": reason})
        journal.event("proposal.finished", f"proposal {number}", reason=reason)
        journal.write()
    return min(second_steps, len(rows))


class _Journal:
    """What happens to approved moves, gathered and written at once."""

    def __init__(self, transaction: Transaction, clock: StillClock) -> None:
        self._transaction, self._clock = transaction, clock
        head = transaction.first(select(audit_head))
        assert head is not None, "the ledger was opened"
        self._last, self._previous = head.last_id, head.hash
        self._audit: list[dict[str, Any]] = []
        self._steps: list[dict[str, Any]] = []
        self._outcomes: list[dict[str, Any]] = []
        self._step = transaction.scalar(select(func.max(steps.c.id))) or 0

    def event(self, event: str, subject: str, **facts: Any) -> None:
        """One link of the chain, now."""
        self._last += 1
        row = {
            "id": self._last, "at": self._clock.at, "actor": "a year", "event": event, "subject": subject,
            "facts": json.dumps(facts, sort_keys=True), "previous": self._previous,
        }  # fmt: skip
        self._previous = row["hash"] = link_hash(row)
        self._audit.append(row)

    def move(self, number: int, digest: str, move: ProposedMove, proposal: int, *, statements: int) -> None:
        """From approved to kept."""
        self._to(number, digest, MoveState.APPROVED, MoveState.PRECHECK)
        self._to(number, digest, MoveState.PRECHECK, MoveState.RUNNING)
        for ordinal, step in enumerate(move.route.steps[:statements], start=1):
            self._statement(number, digest, ordinal, step.sql)
        self._to(number, digest, MoveState.RUNNING, MoveState.PLACED)
        self._to(number, digest, MoveState.PLACED, MoveState.SETTLING)
        outcome = outcome_json(_outcome(number))
        body = json.dumps(outcome, ensure_ascii=False)
        self._outcomes.append({"move_id": number, "at": self._clock.at, "body": body})
        self.event("outcome.recorded", f"move {number}", proposal=proposal, **outcome)
        self._to(number, digest, MoveState.SETTLING, MoveState.KEPT)

    def write(self) -> None:
        """All of it."""
        for table, rows in ((audit, self._audit), (steps, self._steps), (outcomes, self._outcomes)):
            self._transaction.insert_all(table, rows)
        self._transaction.update(audit_head, [1], {"last_id": self._last, "hash": self._previous})

    def _to(self, number: int, digest: str, was: MoveState, to: MoveState) -> None:
        self.event(f"move.{to}", f"move {number}", was=was, reason="as planned", digest=digest)

    def _statement(self, number: int, digest: str, ordinal: int, sql: str) -> None:
        self._step += 1
        started = self._clock.at
        about = {"move": number, "ordinal": ordinal, "sql": sql, "digest": digest}
        self.event("step.intended", f"step {self._step}", **about)
        self._clock.at += ACT_EVERY
        self.event("step.done", f"step {self._step}", detail="")
        ended = {"state": StepState.DONE, "detail": "", "intended_at": started, "ended_at": self._clock.at}
        self._steps.append({"id": self._step, "move_id": number, "ordinal": ordinal, "sql": sql, **ended})


def _outcome(number: int) -> Outcome:
    return Outcome(
        verdict=OutcomeVerdict.HELPED, measured=True,
        predicted_wait_saved_per_hour=900.0, predicted_saved_ratio=0.75,
        wait_per_transaction_before=0.004, wait_per_transaction_after=0.001 + number * 1e-9,
        transactions_per_second_before=100.0, transactions_per_second_after=140.0,
        read_latency_before=0.008, read_latency_after=0.0004, window_seconds=900.0,
        sentence="helped: read wait per transaction went from 4 ms to 1 ms (-75%); predicted -75%",
    )  # fmt: skip
